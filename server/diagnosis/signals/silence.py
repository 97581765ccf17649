"""A run that fell silent: no line, or no step, for far longer than its steps take, and it did not go on.

Silence alone is no accusation: saves, validations and compilations are silent too. With a second sign after it (a
watchdog, a killed process, a timeout) it is an error, without one an info.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...logs.model import Event, Pace
from .run import Run, number
from .signal import LogSignal, signal

_SHORTEST = 600.0  # seconds
_SHORTEST_UNKNOWN = 1800.0  # when nothing tells how long steps take
_TIMES = 10.0  # as many steps
_SECOND_SIGNS = {"watchdog", "engine_dead", "killed", "host_oom", "waiting"}
_INTERRUPTED = ("KeyboardInterrupt", "SIGTERM", "imeout", "TimeoutError", "DUE TO TIME LIMIT")


def detect(run: Run) -> Iterator[LogSignal]:
    for pace in run.reading.paces:
        least = max(_SHORTEST, _TIMES * pace.step_seconds) if pace.step_seconds else _SHORTEST_UNKNOWN
        if pace.seconds < least:
            continue
        text = f"nothing for {_span(pace.seconds)}" if pace.whole else f"no step for {_span(pace.seconds)}"
        text += f" after line {pace.line}: {pace.text}"
        text += f"; last good step {number(pace.step)}" if pace.step is not None else ""
        text += f"; steps took {_span(pace.step_seconds)}" if pace.step_seconds else ""
        second = _second_sign(run, pace)
        text += f"; then {second}" if second else "; no second sign: it may be a long save, validation or compilation"
        severity = "" if second else "info"
        yield signal("silence", text, source="log", step=pace.step, line=pace.line, severity=severity)


def _second_sign(run: Run, pace: Pace) -> str:
    events = (row for row in run.reading.events if row.file == pace.file and row.line > pace.line)
    return next((f"line {row.line}: {row.text[:120]}" for row in events if _tells(row)), "")


def _tells(event: Event) -> bool:
    return event.kind in _SECOND_SIGNS or any(word in event.text for word in _INTERRUPTED)


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{number(round(seconds, 1))} s"
    return f"{number(round(seconds / 60))} min" if seconds < 7200 else f"{number(round(seconds / 3600, 1))} h"
