"""Answers of look-ups that were given before: agents ask the same thing again, and the answer is the same all day."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from datetime import date
from typing import Any, Generic, TypeVar

from . import limits

Kept = TypeVar("Kept")
Key = tuple[str, str, date]


class Remembered(Generic[Kept]):
    """The latest answers, at most `limits.MAX_REMEMBERED`. For one event loop; not for threads."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Key, Kept] = OrderedDict()

    @staticmethod
    def key(tool: str, arguments: Mapping[str, Any]) -> Key | None:
        """What the answer depends on; None for arguments too long to be kept."""
        written = json.dumps(arguments, sort_keys=True)
        return (tool, written, date.today()) if len(written) <= limits.MAX_QUERY_CHARS else None

    def get(self, key: Key | None) -> Kept | None:
        if key is None or key not in self._answers:
            return None
        self._answers.move_to_end(key)
        return self._answers[key]

    def keep(self, key: Key | None, answer: Kept) -> None:
        if key is None:
            return
        self._answers[key] = answer
        while len(self._answers) > limits.MAX_REMEMBERED:
            self._answers.popitem(last=False)
