"""The compiled knowledge: one JSON file made by scripts/build_index.py, so that start-up parses no YAML."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..paths import data_dir


@lru_cache(maxsize=1)
def index() -> dict[str, Any]:
    """The whole index: "fields", "adapters", "rules", "seed_rules". Raises FileNotFoundError when it was not built."""
    with (data_dir("knowledge") / "index.json").open(encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def adapter(framework: str) -> dict[str, Any]:
    """Field map and names of one framework, from knowledge/frameworks/<name>/adapter.yaml."""
    found: dict[str, Any] = index()["adapters"][framework.replace("_", "-")]
    return found
