"""JSONL: verl's file logger (`{"step": 1, "data": {...}}`), EasyR1's nested one, W&B history, any with numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from .. import metrics
from ..numbers import as_number
from ..table import Table

_DEEPEST = 6


class JsonLines:
    name = "JSONL"
    framework = ""
    marks: tuple[str, ...] = ('{"',)
    waiting = False

    def take(self, text: str, line: int, table: Table) -> bool:
        if not text.startswith("{") or not text.rstrip().endswith("}"):
            return False
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(record, dict) and self.take_record(record, line, table)

    def take_record(self, record: Mapping[str, Any], line: int, table: Table) -> bool:
        """One decoded record; false when no number of it is a metric."""
        data = record.get("data")
        if isinstance(data, dict) and "step" in record:
            # verl writes with orjson, which has no NaN and puts null in its place.
            values = flat(data, null=math.nan)
            step = as_number(record["step"])
            if not self.framework and any(name.startswith(("actor/", "critic/")) for name in values):
                self.framework = "verl"
        else:
            values = flat(record)
            step = step_of(values)
        kept = {name: value for name, value in values.items() if not metrics.is_known_aside(name)}
        if not kept:
            return False
        table.add(step, line, kept)
        return True


def step_of(values: Mapping[str, float | None]) -> float | None:
    """The step that a record names, by the first of the known names."""
    for name in metrics.step_order():
        if (value := values.get(name)) is not None:
            return value
    return None


def flat(record: Mapping[str, Any], before: str = "", depth: int = 0, *, null: float | None = None) -> dict[str, float]:
    """Numbers of a nested record under "outer/inner"; `null` is what null stands for, None for "not logged"."""
    found: dict[str, float] = {}
    for name, value in record.items():
        if type(value) is float:
            found[before + name] = value
        elif isinstance(value, dict):
            if depth < _DEEPEST:
                found |= flat(value, f"{before}{name}/", depth + 1, null=null)
        else:
            number = null if value is None else as_number(value)
            if number is not None:
                found[before + name] = number
    return found
