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
            values = {name: math.nan if value is None else value for name, value in flat(data, nulls=True).items()}
            self.framework = "verl" if any(name.startswith(("actor/", "critic/")) for name in values) else ""
            step = as_number(record["step"])
        else:
            values = {name: value for name, value in flat(record).items() if value is not None}
            step = step_of(values)
        kept = {name: value for name, value in values.items() if value is not None and not metrics.is_known_aside(name)}
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


def flat(
    record: Mapping[str, Any], before: str = "", depth: int = 0, *, nulls: bool = False
) -> dict[str, float | None]:
    """Numbers of a nested record under "outer/inner"; with `nulls` also what is null."""
    found: dict[str, float | None] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                found |= flat(value, f"{before}{name}/", depth + 1, nulls=nulls)
        elif value is None:
            if nulls:
                found[before + name] = None
        elif (number := as_number(value)) is not None:
            found[before + name] = number
    return found
