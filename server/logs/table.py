"""Collects metrics as they come: rows of one step each, columns by native name, in little memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..limits import MAX_METRIC_POINTS, MAX_METRICS
from .model import Series

_MAX_NAME = 200


@dataclass(slots=True)
class _Column:
    rows: array[int] = field(default_factory=lambda: array("L"))
    values: array[float] = field(default_factory=lambda: array("d"))
    stride: int = 1
    seen: int = 0


class Table:
    """Metrics of one log. A row is one record; what a record does not name stays absent."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.dropped = 0  # names beyond MAX_METRICS
        self._steps: array[float] = array("d")
        self._lines: array[int] = array("Q")
        self._columns: dict[str, _Column] = {}

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def names(self) -> list[str]:
        return list(self._columns)

    @property
    def last_step(self) -> float | None:
        return self._steps[-1] if self._steps else None

    @property
    def steps(self) -> tuple[float | None, float | None]:
        return (self._steps[0], self._steps[-1]) if self._steps else (None, None)

    @property
    def lines(self) -> tuple[int, int]:
        """Lines of the first and of the last record, (0, 0) when there is none."""
        return (self._lines[0], self._lines[-1]) if self._lines else (0, 0)

    def add(self, step: float | None, line: int, values: Mapping[str, float]) -> None:
        """One record. Without a step of its own it is the one after the last."""
        if step is None or not math.isfinite(step):
            step = self._steps[-1] + 1 if self._steps else float(len(self._steps))
        row = len(self._steps)
        self._steps.append(step)
        self._lines.append(line)
        columns = self._columns
        for name, value in values.items():
            column = columns.get(name)
            if column is None:
                if len(columns) >= MAX_METRICS or len(name) > _MAX_NAME:
                    self.dropped += 1
                    continue
                column = columns[name] = _Column()
            column.seen += 1
            if column.stride > 1 and column.seen % column.stride and math.isfinite(value):
                continue
            column.rows.append(row)
            column.values.append(value)
            if len(column.values) > MAX_METRIC_POINTS:
                _thin(column)

    def count(self, name: str) -> int:
        """How many values of a metric were logged."""
        return self._columns[name].seen

    def series(self, name: str) -> Series:
        """A column with its steps and lines."""
        column = self._columns[name]
        steps, lines = self._steps, self._lines
        return Series(
            name,
            self.file,
            array("d", [steps[row] for row in column.rows]),
            column.values,
            array("Q", [lines[row] for row in column.rows]),
            column.stride,
        )


def _thin(column: _Column) -> None:
    """Keep every second value; the first thousand of those that are not finite stay."""
    odd = [place for place, value in enumerate(column.values) if not math.isfinite(value)][:1000]
    kept = sorted({*range(0, len(column.values), 2), *odd})
    column.rows = array("L", [column.rows[place] for place in kept])
    column.values = array("d", [column.values[place] for place in kept])
    column.stride *= 2
