"""Times that lines carry: how long a log was silent, and where.

Large pieces are passed over by their first and last time; only one that spans minutes is looked at line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from ..configs.files import printable
from .lines import Chunk, bare

SHORTEST = 300.0  # seconds; a shorter pause is no silence
_HEAD = 160  # characters of a line in which its time stands
_ALWAYS_LINES = 20_000  # lines at the start that are looked at one by one
_KEPT = 20_000
_SILENCES = 5
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(?P<{0}h>\d\d):(?P<{0}m>\d\d):(?P<{0}s>\d\d)"
_STAMP = re.compile(
    r"(?<!\d)(?P<iy>20\d\d)[-/](?P<io>\d\d)[-/](?P<id>\d\d)[ T]" + _CLOCK.format("i")  # ISO: Ray, Megatron, logging
    + r"|(?<!\d)(?P<uo>\d\d)/(?P<ud>\d\d)/(?P<uy>20\d\d) " + _CLOCK.format("u")  # Transformers
    + r"|\b(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) (?P<vo>\d\d)-(?P<vd>\d\d) " + _CLOCK.format("v")  # vLLM
    + r"|(?:^|\[)[IWEF](?P<go>\d{1,2})(?P<gd>\d\d) " + _CLOCK.format("g")  # glog: PyTorch, NCCL
    + r"|^(?P<so>[A-Z][a-z]{2}) +(?P<sd>\d{1,2}) " + _CLOCK.format("s")  # syslog
)  # fmt: skip
_MINUTES = re.compile(r":\d\d:")  # stands in every time of the above
_YEARLESS = 2000


@dataclass(frozen=True, slots=True)
class Silence:
    """No line for so many seconds: the lines before and after it."""

    seconds: float
    line: int
    text: str
    next_line: int
    next_text: str


class Clock:
    """Follows the times of one log."""

    def __init__(self) -> None:
        self.silences: list[Silence] = []  # the longest ones
        self.last: tuple[int, float] | None = None  # line and time of the last line that has one
        self._style = ""
        self._text = ""
        self._seen = 0
        self._lines: list[int] = []
        self._times: list[float] = []

    def feed(self, chunk: Chunk) -> None:
        """The next lines of the log."""
        early = self._seen < _ALWAYS_LINES
        self._seen += len(chunk.lines)
        if "\x1b" not in chunk.text and not _MINUTES.search(chunk.text):
            return
        if early or self._spans(chunk):
            for number, raw in zip(chunk.numbers, chunk.lines, strict=True):
                self._take(number, raw)
        else:
            for number, raw in self._last_of(chunk):
                self._take(number, raw)

    def _spans(self, chunk: Chunk) -> bool:
        """Whether a silence may lie in a piece: its last time is far behind the one before it, or of another style."""
        last = next((stamp for _, raw in self._last_of(chunk) if (stamp := stamp_of(bare(raw)[0]))), None)
        if last is None:
            return False
        return self.last is None or last[0] != self._style or last[1] - self.last[1] >= SHORTEST

    @staticmethod
    def _last_of(chunk: Chunk) -> Iterator[tuple[int, str]]:
        """The last line with a time, looked for among the last ones."""
        for place in range(len(chunk.lines) - 1, max(-1, len(chunk.lines) - 40), -1):
            if stamp_of(bare(chunk.lines[place])[0]):
                yield chunk.numbers[place], chunk.lines[place]
                return

    def _take(self, number: int, raw: str) -> None:
        text = bare(raw)[0] if raw[:1] in "([\x1b" else raw
        stamp = stamp_of(text)
        if stamp is None:
            return
        style, time = stamp
        # Programs of one run may write in different time zones: only times of one style are compared.
        if self.last is not None and style == self._style and time - self.last[1] >= SHORTEST:
            before, after = printable(self._text.strip(), 200), printable(text.strip(), 200)
            self.silences.append(Silence(time - self.last[1], self.last[0], before, number, after))
            self.silences = sorted(self.silences, key=lambda row: -row.seconds)[:_SILENCES]
        self.last, self._style, self._text = (number, time), style, text
        if len(self._lines) < _KEPT:
            self._lines.append(number)
            self._times.append(time)

    def at(self, line: int) -> float | None:
        """The time at a line: that of the last line with one up to it."""
        from bisect import bisect_right

        if self.last is not None and line >= self.last[0]:
            return self.last[1]
        place = bisect_right(self._lines, line)
        return self._times[place - 1] if place else None


def stamp_of(text: str) -> tuple[str, float] | None:
    """Style and seconds of the time in the head of a line; None when there is none."""
    if ":" not in text[:_HEAD]:
        return None
    found = _STAMP.search(text, 0, _HEAD)
    if found is None:
        return None
    style = (found.lastgroup or "i")[0]
    part = found.groupdict()
    month = part[f"{style}o"]
    number = _MONTHS.index(month.lower()) + 1 if style == "s" and month.lower() in _MONTHS else month
    year = part.get(f"{style}y") or _YEARLESS
    day = _day(int(year), int(number), int(part[f"{style}d"])) if str(number).isdigit() else None
    if day is None:
        return None
    return style, day * 86_400.0 + int(part[f"{style}h"]) * 3600 + int(part[f"{style}m"]) * 60 + int(part[f"{style}s"])


@lru_cache(maxsize=256)
def _day(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None
