"""Exceptions, watchdogs and memory errors of a console, with the phase in which they stand.

What counts as which kind, and what names a phase, is data (knowledge/signals.yaml `events` and `phases`).
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..limits import MAX_LOG_EVENTS
from ..store import signals
from .model import Event

_MOST_OF_KIND = 12
_MAX_TEXT = 300
_MAX_FRAMES = 200
_RECENT, _AFTER = 20, 3
_FRAME = re.compile(r'^\s*File "(?:[^"]*[/\\])?([^"/\\]+)", line \d+, in (\S+)')
_PATH = re.compile(r'^\s*File "([^"]*)"')
_LAST = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Timeout|Died|Dead|Unavailable)\b\w*)(?::|$)")


@dataclass(slots=True)
class _Open:
    """A traceback whose last line has not come yet."""

    line: int
    ignored: bool = False
    frames: list[str] = field(default_factory=list)
    path: str = ""  # everything that may name a phase
    lines: int = 0


class EventReader:
    """Collects events; tracebacks of several processes may be mixed line by line."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Event] = []
        self.dropped = 0
        self._open: dict[str, _Open] = {}
        self._after = 0  # lines after the last event that may still name its phase
        self._recent: deque[str] = deque(maxlen=_RECENT)  # lines before an event may name its phase
        self._counts: dict[str, int] = {}

    @property
    def waiting(self) -> bool:
        return bool(self._open) or self._after > 0

    def take(self, text: str, line: int, origin: str, rank: int | None, step: float | None) -> bool:
        """Read one line; true when it is part of a traceback or an event."""
        if "Traceback (most recent call last)" in text:
            # Python reports so what a destructor raised; nothing ends by it.
            ignored = bool(self._recent) and self._recent[-1].startswith("Exception ignored in")
            self._open[origin] = _Open(line, ignored=ignored)
            return True
        if (trace := self._open.get(origin)) and self._in_traceback(trace, text, line, origin, rank, step):
            return True
        if trace is None and _LAST.match(text):
            return self._add(self._kind(text, "exception"), text, line, rank, step, "")
        kind = self._kind(text, "")
        if kind:
            return self._add(kind, text, line, rank, step, "")
        self._recent.append(text[:_MAX_TEXT])
        if self._after:
            self._name_phase(text)
        return False

    def _name_phase(self, text: str) -> None:
        """The lines after an error may tell where it happened, when nothing before it did."""
        self._after -= 1
        if phase := phase_of(text[:_MAX_TEXT]):
            self.found[-1] = replace(self.found[-1], phase=phase)
            self._after = 0

    def _in_traceback(
        self, trace: _Open, text: str, line: int, origin: str, rank: int | None, step: float | None
    ) -> bool:
        trace.lines += 1
        if frame := _FRAME.match(text):
            if len(trace.frames) < _MAX_FRAMES:
                trace.frames.append(f"{frame[1]}:{frame[2]}")
                where = _PATH.match(text)
                trace.path += f" {where[1] if where else ''} {frame[2]}"
            return True
        if text.startswith((" ", "\t")) or not text.strip() or trace.lines > 2_000:
            if trace.lines > 2_000:
                del self._open[origin]
            elif len(trace.path) < 20_000:
                trace.path += f" {text.strip()[:200]}"
            return True
        if _LAST.match(text) or not text.startswith(("During handling", "The above exception")):
            del self._open[origin]
            if not _LAST.match(text) and ": " not in text:
                return False  # some other line: the traceback was cut
            if trace.ignored:
                return True
            return self._add(self._kind(text, "exception"), text, line, rank, step, trace.path, trace.frames)
        return True

    def _add(
        self,
        kind: str,
        text: str,
        line: int,
        rank: int | None,
        step: float | None,
        path: str,
        frames: list[str] | None = None,
    ) -> bool:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self._counts[kind] > _MOST_OF_KIND or len(self.found) >= MAX_LOG_EVENTS:
            self.dropped += 1
            return True
        phase = phase_of(f"{path} {text}") or phase_of("\n".join(self._recent))
        self.found.append(
            Event(kind, text.strip()[:_MAX_TEXT], line, self.file, phase, rank, step, tuple((frames or [])[-8:]))
        )
        self._after = 0 if phase else _AFTER
        return True

    def _kind(self, text: str, otherwise: str) -> str:
        if not any(gate in text for gate in gates()):
            return otherwise
        for kind, expression, literals in _kinds():
            if any(mark in text for mark in literals) and expression.search(text, 0, 4_000):
                return kind
        return otherwise


def phase_of(text: str) -> str:
    """The phase that a text names: start, rollout, wake_up, sync, log_prob, update, reward, checkpoint; "" for none."""
    best = ""
    for found in _phases().finditer(text):
        best = found.lastgroup or best  # the last is the innermost frame, which says most
    return best


@lru_cache(maxsize=1)
def _kinds() -> list[tuple[str, re.Pattern[str], list[str]]]:
    return [(kind, re.compile("|".join(row["shapes"])), row["marks"]) for kind, row in signals.data()["events"].items()]


@lru_cache(maxsize=1)
def _phases() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{phase}>{'|'.join(ways)})" for phase, ways in signals.data()["phases"].items()))


@lru_cache(maxsize=1)
def gates() -> tuple[str, ...]:
    """One of these stands in every line that an event could be made of."""
    return tuple(signals.data()["gates"])
