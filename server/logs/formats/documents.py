"""JSON documents: `trainer_state.json`, an exported history, a summary; whole, or as far as a cut one goes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import metrics
from ..numbers import NUMBER, as_number
from ..table import Table
from .json_lines import JsonLines, flat

_LISTS = ("log_history", "history", "data", "rows", "logs", "metrics")
_PAIR = re.compile(rf'^\s*"([^"\\]{{1,200}})":\s*"?({NUMBER})"?,?\s*$')


def read_document(text: str, table: Table) -> str:
    """Take the records of a decoded document; returns what it was, "" when it holds none.

    Raises ValueError when the text is no JSON (use `LooseDocument` then).
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if isinstance(data, dict):
        for name in _LISTS:
            if isinstance(data.get(name), list) and _records(data[name], table, text):
                return "trainer_state.json" if name == "log_history" else "JSON history"
        if _columns(data, table):
            return "JSON columns"
        if any(metrics.canonical(name) for name in flat(data)):
            JsonLines().take_record(data, 1, table)
            return "JSON summary"
        return ""
    return "JSON records" if isinstance(data, list) and _records(data, table, text) else ""


def _records(rows: Sequence[Any], table: Table, text: str) -> bool:
    reader = JsonLines()
    finders = {name: _lines_with(text, name) for name in ("step", "_step", "global_step")}
    taken = False
    for row in rows:
        if isinstance(row, dict):
            name = next((name for name in finders if name in row), "")
            line = next(finders[name], 0) if name else 0
            taken = reader.take_record(row, line, table) or taken
    return taken


def _lines_with(text: str, name: str) -> Iterator[int]:
    """Lines at which a record names its step: where to look for it."""
    place, number = 0, 1
    for found in re.finditer(rf'"{name}"\s*:', text):
        number += text.count("\n", place, found.start())
        place = found.start()
        yield number


def _columns(data: Mapping[str, Any], table: Table) -> bool:
    """{"step": [0, 1], "loss": [0.1, 0.2]}"""
    columns = {name: value for name, value in data.items() if isinstance(value, list) and value}
    if not any(metrics.canonical(name) for name in columns):
        return False
    reader = JsonLines()
    for place in range(max(len(value) for value in columns.values())):
        row = {name: value[place] for name, value in columns.items() if place < len(value)}
        reader.take_record(
            {name: value for name, value in row.items() if as_number(value) is not None}, place + 1, table
        )
    return True


class DocumentLines:
    """A document that is cut, or too long to decode at once: `"name": number` lines between braces."""

    name = "JSON document, line by line"
    framework = ""
    marks: tuple[str, ...] = ('"',)

    def __init__(self) -> None:
        self._values: dict[str, float] = {}
        self._line = 0

    @property
    def waiting(self) -> bool:
        return bool(self._values)

    def take(self, text: str, line: int, table: Table) -> bool:
        if found := _PAIR.match(text):
            self._line = self._line or line
            self._values[found[1]] = float(found[2])
            return True
        if "}" in text or "{" in text:
            self.finish(table)
        return False

    def finish(self, table: Table) -> None:
        if any(metrics.canonical(name) for name in self._values):
            JsonLines().take_record(self._values, self._line, table)
        self._values, self._line = {}, 0
