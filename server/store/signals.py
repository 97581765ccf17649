"""The compiled knowledge of metric names, events and signals: one JSON file made by scripts/build_signals.py."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..paths import data_dir


@lru_cache(maxsize=1)
def data() -> dict[str, Any]:
    """Metrics, events, phases, sources and signals. Raises FileNotFoundError when it was not built."""
    with (data_dir("knowledge") / "signals.json").open(encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def signal(name: str) -> dict[str, Any]:
    """Title, severity, patterns with weights, symptoms, threshold and source of one signal. Raises KeyError."""
    found: dict[str, Any] = data()["signals"][name]
    return found
