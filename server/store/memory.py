"""The compiled shapes of models and figures of cards: knowledge/memory.json, made by scripts/build_index.py."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..paths import data_dir

Entry = dict[str, Any]


@lru_cache(maxsize=1)
def _loaded() -> dict[str, dict[str, Entry]]:
    with (data_dir("knowledge") / "memory.json").open(encoding="utf-8") as file:
        loaded: dict[str, dict[str, Entry]] = json.load(file)
    return loaded


def models() -> dict[str, Entry]:
    """Shapes by id (knowledge/models). Raises FileNotFoundError when they were not built."""
    return _loaded()["models"]


def gpus() -> dict[str, Entry]:
    """Cards by id (knowledge/gpus). Raises FileNotFoundError when they were not built."""
    return _loaded()["gpus"]
