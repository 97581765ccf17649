"""A console or a file of records, piece by piece: a reader looks only at pieces in which one of its marks stands."""

from __future__ import annotations

import re

from ..configs.files import printable
from .clock import SHORTEST, Clock
from .events import EventReader, gates
from .formats.bars import BarLines
from .formats.blocks import Blocks
from .formats.console import ConsoleReader
from .formats.deepspeed import DeepSpeedLines
from .formats.dicts import DictLines
from .formats.documents import DocumentLines
from .formats.json_lines import JsonLines
from .formats.loose import LooseLines
from .formats.verl_console import VerlConsole
from .lines import Chunk, bare
from .model import Event, Pace, Printed, Source
from .settings import SETTING_MARKS, VERSION_MARKS, PrintedSettings
from .table import Table

SCRAP_LINES = 400  # a text this short without records is read as pasted scraps
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_START_LINES = 100_000  # settings and versions are printed at the start


class Console:
    """Reads one source into its table, and its events and settings beside."""

    def __init__(self, source: Source, table: Table) -> None:
        self._source, self._table = source, table
        self._blocks, self._document = Blocks(), DocumentLines()
        self._readers: list[ConsoleReader] = [
            JsonLines(), VerlConsole(), BarLines(), DeepSpeedLines(), DictLines(), self._blocks, self._document,
        ]  # fmt: skip
        self._events, self._gates = EventReader(source.path), gates()
        self._settings = PrintedSettings(source.path)
        self._clock = Clock()
        self._taken: dict[str, int] = {}
        self._first: list[tuple[int, str]] = []
        self._lines = 0

    @property
    def events(self) -> list[Event]:
        return self._events.found

    @property
    def settings(self) -> dict[str, Printed]:
        return self._settings.found

    @property
    def versions(self) -> dict[str, str]:
        return self._settings.versions

    @property
    def framework(self) -> str:
        return next(
            (reader.framework for reader in self._readers if reader.framework and reader.name in self._taken), ""
        )

    def take(self, chunk: Chunk) -> None:
        """Read a piece."""
        text = chunk.text
        early = self._lines < _START_LINES
        settings = self._settings.waiting or (early and any(mark in text for mark in SETTING_MARKS))
        self._remember(chunk)
        self._clock.feed(chunk)
        self._lines += len(chunk.lines)
        done = 0 if settings or self._waits() else self._take_json(chunk)
        if done == len(chunk.lines):  # before other marks are looked for, which takes longer than the records
            return
        readers = [row for row in self._readers if row.waiting or any(mark in text for mark in row.marks)]
        events = self._events.waiting or any(gate in text for gate in self._gates)
        versions = early and any(mark in text for mark in VERSION_MARKS)
        if not (readers or events or settings or versions):
            return
        for number, raw in zip(chunk.numbers[done:], chunk.lines[done:], strict=True):
            line, origin, rank = bare(raw)
            if settings and not self._blocks.waiting and self._settings.take(line, number, origin):
                continue
            if self._take_record(readers, line, number):
                continue
            if events:
                self._events.take(
                    line, number, origin, rank if rank is not None else self._source.rank, self._table.last_step
                )
            if versions and len(line) < 2_000 and any(mark in line for mark in VERSION_MARKS):
                self._settings.take_version(line)

    def _waits(self) -> bool:
        """Whether something goes on from the lines before."""
        return self._events.waiting or any(reader.waiting for reader in self._readers)

    def _take_json(self, chunk: Chunk) -> int:
        """Read the records that a piece begins with, mostly all of it; how many lines they are."""
        reader, table, taken = self._readers[0], self._table, 0
        if not any(mark in chunk.text for mark in reader.marks):
            return 0
        for number, raw in zip(chunk.numbers, chunk.lines, strict=True):
            if not reader.take(raw, number, table):
                break
            taken += 1
        if taken:
            self._taken[reader.name] = self._taken.get(reader.name, 0) + taken
        return taken

    def _take_record(self, readers: list[ConsoleReader], line: str, number: int) -> bool:
        for reader in readers:
            if reader.take(line, number, self._table):
                self._taken[reader.name] = self._taken.get(reader.name, 0) + 1
                return True
        return False

    def finish(self) -> None:
        """Hand over what is open, and read a short text without records as scraps."""
        self._blocks.finish(self._table)
        self._document.finish(self._table)
        self._settings.finish()
        if not len(self._table) and self._lines <= SCRAP_LINES:
            self._take_record_of_scraps()
        if self._taken:
            self._source.format = max(self._taken, key=lambda name: self._taken[name])
        self._source.notes += self._settings.notes
        if self._events.dropped:
            self._source.notes.append(f"{self._events.dropped} further errors of the same kinds")

    @property
    def pace(self) -> Pace | None:
        """The longest time without a step after the last record; None when it is short or lines carry no time."""
        clock, (first, last) = self._clock, self._table.lines
        per_step = self._step_seconds(first, last)
        step, file = self._table.last_step, self._source.path
        whole = max((row for row in clock.silences if row.line >= last), key=lambda row: row.seconds, default=None)
        since = clock.at(last) if last else None
        waited = clock.last[1] - since if clock.last is not None and since is not None else 0.0
        if whole is not None and whole.seconds >= waited / 2:
            return Pace(whole.seconds, True, whole.line, whole.text, file, step, per_step)
        if waited < SHORTEST:
            return None
        return Pace(waited, False, last, "the last record of metrics", file, step, per_step)

    def _step_seconds(self, first: int, last: int) -> float | None:
        start, end, rows = self._clock.at(first), self._clock.at(last), len(self._table)
        return (end - start) / (rows - 1) if rows >= 3 and start is not None and end is not None else None

    def _take_record_of_scraps(self) -> None:
        reader = LooseLines()
        for number, line in self._first:
            if reader.take(line, number, self._table):
                self._taken[reader.name] = self._taken.get(reader.name, 0) + 1

    def _remember(self, chunk: Chunk) -> None:
        """The first lines, for scraps; the last one and the last time, for hangs."""
        if self._lines < SCRAP_LINES:
            pairs = zip(chunk.numbers, chunk.lines, strict=True)
            self._first += [(number, bare(line)[0]) for number, line in pairs][: SCRAP_LINES - self._lines]
        last = next((line for line in reversed(chunk.lines) if line.strip()), "")
        if last:
            self._source.last_line = printable(bare(last)[0].strip(), 300)
        times = _TIME.findall(chunk.text[-8_000:])
        if times:
            self._source.last_time = " ".join(times[-1])
