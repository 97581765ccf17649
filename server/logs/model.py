"""What was read in the logs of one run: metric series, events, printed settings, versions, coverage."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import compress
from typing import Any


@dataclass(slots=True)
class Series:
    """One metric as logged. A step at which it was not logged has no entry here, so NaN means that NaN was logged.

    names: the metric's name in the log. stride: every how many values one was kept (1: all; values that are not
    finite are always kept).
    """

    name: str
    file: str
    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("Q"))
    stride: int = 1

    def __len__(self) -> int:
        return len(self.values)

    def finite(self) -> Iterator[tuple[float, float, int]]:
        """Step, value and line of what is a number."""
        return (row for row in zip(self.steps, self.values, self.lines, strict=True) if math.isfinite(row[1]))

    def finite_columns(self) -> tuple[list[float], list[float], list[int]]:
        """The same as three lists."""
        if all(map(math.isfinite, self.values)):
            return list(self.steps), list(self.values), list(self.lines)
        kept = list(map(math.isfinite, self.values))
        return list(compress(self.steps, kept)), list(compress(self.values, kept)), list(compress(self.lines, kept))

    def not_finite(self) -> Iterator[tuple[float, float, int]]:
        return (row for row in zip(self.steps, self.values, self.lines, strict=True) if not math.isfinite(row[1]))


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a log says once: an exception, a watchdog, memory that ran out.

    kind: a key of knowledge/signals.yaml `events`. phase: what the run was doing, "" when nothing says so.
    frames: the last places of a traceback, innermost last, as "file.py:function".
    """

    kind: str
    text: str
    line: int
    file: str
    phase: str = ""
    rank: int | None = None
    step: float | None = None
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Printed:
    """A setting that the run itself printed: what really ran."""

    key: str
    value: Any
    line: int
    file: str


@dataclass(frozen=True, slots=True)
class Pace:
    """The longest time without a step at the end of a log, by the times of its lines.

    whole: whether no line at all was written in it. step: the last one before it. step_seconds: of the steps before,
    on average; None when fewer than three have a time.
    """

    seconds: float
    whole: bool
    line: int
    text: str
    file: str
    step: float | None = None
    step_seconds: float | None = None


@dataclass(slots=True)
class Source:
    """One log as it was read."""

    path: str
    format: str = "text"
    lines: int = 0
    rows: int = 0  # records of metrics
    first_step: float | None = None
    last_step: float | None = None
    last_line: str = ""
    last_time: str = ""
    rank: int | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LogReading:
    """The logs of one run. `series` by canonical name; of a metric of many parts, "reward_component:NAME"."""

    series: dict[str, Series] = field(default_factory=dict)
    native: dict[str, Series] = field(default_factory=dict)  # metrics without a canonical name, and second names
    unknown_metrics: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    paces: list[Pace] = field(default_factory=list)  # where a log fell silent and did not go on
    config: dict[str, Printed] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    framework: str = ""

    @property
    def coverage(self) -> dict[str, Any]:
        """What was read and what was not, for the answer."""
        steps = [value for row in self.sources for value in (row.first_step, row.last_step) if value is not None]
        return {
            "files": [
                {"path": row.path, "format": row.format, "lines": row.lines, "rows": row.rows} for row in self.sources
            ],
            "steps": [min(steps), max(steps)] if steps else [],
            "metrics": {name: row.name for name, row in sorted(self.series.items())},
            "unknown_metrics": self.unknown_metrics,
            "notes": [note for row in self.sources for note in row.notes],
        }
