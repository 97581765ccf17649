"""The logs of one run, read once: files, folders or pasted text, each in the format that it turns out to have."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..configs.files import printable
from ..deadline import passed
from ..limits import MAX_LOG_DOCUMENT_BYTES
from . import metrics
from .console import Console
from .folders import logs_in, rank_of
from .formats import csv_table, documents, tensorboard, wandb_file
from .lines import Chunk, Cutter, chunks_of_file, chunks_of_text, open_log
from .model import Event, LogReading, Printed, Source
from .settings import arguments, flatten
from .table import Table

__all__ = ["LogReading", "read_logs"]

_HEAD = 65_536
_UNKNOWN_LISTED = 200
_TIME_SHARE = 0.5  # of a request's time; the rest is for a second look at the lines, and for the answer
_PINNED = re.compile(r"^([A-Za-z][\w.-]*)==([\w.+!-]+)", re.MULTILINE)


def read_logs(logs: Iterable[str | Path]) -> LogReading:
    """Everything that the logs of one run say: a Path is a file or a folder, a str is the text of a log itself.

    Raises InputError, in one line, for a path that cannot be read. Odd content never raises: what was not understood
    stands in `coverage`.
    """
    reading = LogReading()
    tables: list[Table] = []
    parts = [part for log in logs for part in _parts(log, reading)]
    for place, part in enumerate(parts):
        if place and passed(_TIME_SHARE):
            reading.sources[-1].notes.append(f"the time was over: {len(parts) - place} of {len(parts)} logs not read")
            break
        tables.append(_read(part, reading))
    _gather(tables, reading)
    _silent_ranks(reading)
    return reading


def _parts(log: str | Path, reading: LogReading) -> list[str | Path]:
    if isinstance(log, str) or not log.is_dir():
        return [log]
    found, notes = logs_in(log)
    if notes:
        reading.sources.append(Source(printable(log), "folder", notes=notes))
    return list(found)


def _read(log: str | Path, reading: LogReading) -> Table:
    name = printable(log, 300) if isinstance(log, Path) else "log"
    source, table = Source(name), Table(name)
    reading.sources.append(source)
    if isinstance(log, str):
        _read_text(log, log[:_HEAD], source, table, reading)
    else:
        source.rank = rank_of(log)
        with open_log(log) as file:
            _read_file(log, file, source, table, reading)
    source.rows = len(table)
    source.first_step, source.last_step = table.steps
    if table.dropped:
        source.notes.append(f"{table.dropped} values of further metrics were left out: more metrics than are kept")
    return table


def _read_file(path: Path, file: BinaryIO, source: Source, table: Table, reading: LogReading) -> None:
    head = file.read(_HEAD)
    file.seek(0)
    if "tfevents" in path.name or (path.suffix not in (".log", ".txt") and tensorboard.looks_like_events(head)):
        source.format = "TensorBoard"
        source.notes += tensorboard.read_events(file, table)
        return
    if wandb_file.looks_like_wandb(head):
        source.format = "W&B offline run"
        _read_wandb(path, file, source, table, reading)
        return
    if path.name in ("wandb-metadata.json", "requirements.txt", "config.yaml"):
        source.format = "run folder"
        _read_run_file(path.name, file.read(MAX_LOG_DOCUMENT_BYTES).decode("utf-8", "replace"), source, reading)
        return
    if b"\x00" in head[:4096] and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        source.notes.append("holds binary data; read as far as it is text")
    text = head.decode("utf-8", "replace")
    if _is_document(text):
        size = file.seek(0, 2)
        file.seek(0)
        if size <= MAX_LOG_DOCUMENT_BYTES:
            _read_document(file.read().decode("utf-8-sig", "replace"), source, table, reading)
            return
    cutter = Cutter(share=_TIME_SHARE)
    _read_chunks(chunks_of_file(file, cutter), text, cutter, source, table, reading)


def _read_wandb(path: Path, file: BinaryIO, source: Source, table: Table, reading: LogReading) -> None:
    run = wandb_file.read_wandb(file, table)
    source.notes += run.notes
    for key, value in run.config.items():
        reading.config.setdefault(key, Printed(key, value, 0, source.path))
    if any(Path(row.path).name == "output.log" and path.parent in Path(row.path).parents for row in reading.sources):
        return  # the same output as text
    cutter = Cutter()
    console = Console(source, Table(source.path))
    for chunk in wandb_file.output_chunks(file, cutter):
        console.take(chunk)
    console.finish()
    source.format = "W&B offline run"
    _take_console(console, reading)
    source.lines = cutter.number - 1


def _read_text(text: str, head: str, source: Source, table: Table, reading: LogReading) -> None:
    if _is_document(head) and len(text) <= MAX_LOG_DOCUMENT_BYTES:
        _read_document(text, source, table, reading)
        return
    cutter = Cutter(share=_TIME_SHARE)
    _read_chunks(chunks_of_text(text, cutter), head, cutter, source, table, reading)


def _is_document(head: str) -> bool:
    """Whether a text is one JSON value rather than a record per line."""
    start = head.lstrip("\ufeff \t\r\n")
    first, feed, rest = start.partition("\n")
    first = first.strip()
    if first in ("{", "[") or re.match(r"\[\s*\{\s*$|\[\s*\{\s*\"", first):
        return True
    return first.startswith('{"') and (not feed or not rest.strip() or '"log_history"' in first)


def _read_document(text: str, source: Source, table: Table, reading: LogReading) -> None:
    source.lines = text.count("\n") + 1
    try:
        source.format = documents.read_document(text, table) or "JSON"
        return
    except ValueError:
        pass
    cutter = Cutter(share=_TIME_SHARE)
    _read_chunks(chunks_of_text(text, cutter), text[:_HEAD], cutter, source, table, reading)
    if len(table):
        source.notes.append("the JSON is cut or damaged; read line by line")


def _read_chunks(
    chunks: Iterable[Chunk], head: str, cutter: Cutter, source: Source, table: Table, reading: LogReading
) -> None:
    first = head.lstrip("\ufeff").partition("\n")[0].rstrip("\r")
    delimiter = csv_table.delimiter_of(first) if len(first) < _HEAD and "{" not in first else None
    if delimiter:
        source.format = "CSV"
        rows = csv_table.CsvRows(first, delimiter)
        for place, chunk in enumerate(chunks):
            skip = 1 if place == 0 else 0
            rows.take(chunk.lines[skip:], list(chunk.numbers[skip:]), table)
    else:
        console = Console(source, table)
        for chunk in chunks:
            console.take(chunk)
        console.finish()
        _take_console(console, reading)
    source.lines = max(cutter.number - 1, source.lines) if not cutter.cut else cutter.number
    if cutter.cut:
        source.notes.append(f"{cutter.cut} very long lines were cut")
    if cutter.stopped:
        source.notes.append(f"the time was over: read to line {source.lines:,} only; give the end of the log alone")


def _take_console(console: Console, reading: LogReading) -> None:
    reading.events += console.events
    reading.paces += [console.pace] if console.pace else []
    for key, printed in console.settings.items():
        reading.config.setdefault(key, printed)
    for package, version in console.versions.items():
        reading.versions.setdefault(package, version)
    reading.framework = reading.framework or console.framework


def _read_run_file(name: str, text: str, source: Source, reading: LogReading) -> None:
    """Files that W&B keeps beside the log: what was installed, what was set."""
    source.lines = text.count("\n") + 1
    if name == "requirements.txt":
        for found in _PINNED.finditer(text):
            reading.versions.setdefault(found[1].lower().replace("_", "-"), found[2])
        return
    data: Any = None
    if name == "wandb-metadata.json":
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            source.notes.append("the JSON is cut or damaged")
        if isinstance(data, dict) and isinstance(data.get("args"), list):
            for key, value in arguments(data.pop("args")):
                reading.config.setdefault(key, Printed(key, value, 0, source.path))
        data = {"wandb": data} if isinstance(data, dict) else None
    elif len(text) < 1_000_000:
        data = _wandb_config(text, source)
    for key, value in flatten(data) if isinstance(data, dict) else ():
        reading.config.setdefault(key, Printed(key, value, 0, source.path))


def _wandb_config(text: str, source: Source) -> dict[str, Any] | None:
    """W&B writes each setting as {desc: ..., value: ...}."""
    from ..configs.values import InputError
    from ..configs.yaml_text import read_yaml

    try:
        data = read_yaml(text, source.path).data
    except InputError as error:
        source.notes.append(printable(error, 200))
        return None
    if not isinstance(data, dict):
        return None
    return {
        key: row["value"] if isinstance(row, dict) and "value" in row else row
        for key, row in data.items()
        if key != "_wandb"
    }


def _gather(tables: Sequence[Table], reading: LogReading) -> None:
    """Give columns their canonical names. Of several logs the fullest column counts, of several names the first."""
    best: dict[str, tuple[int, int, str, Table]] = {}
    votes: Counter[str] = Counter()
    unknown: dict[str, None] = {}
    for table in tables:
        for name in table.names:
            found = metrics.canonical(name)
            if found is None:
                unknown.setdefault(name)
                reading.native.setdefault(name, table.series(name))
                continue
            target, place = found
            votes.update(metrics.frameworks_of(name))
            row = (place, -table.count(name), name, table)
            if target not in best or row[:2] < best[target][:2]:
                best[target] = row
    for target, (_, _, name, table) in best.items():
        reading.series[target] = table.series(name)
    for table in tables:
        for name in table.names:
            found = metrics.canonical(name)
            if found and reading.series[found[0]].name != name:
                reading.native.setdefault(name, table.series(name))
    reading.unknown_metrics = sorted(unknown)[:_UNKNOWN_LISTED]
    if not reading.framework and votes:
        (first, count), *others = votes.most_common(2)
        if count >= 2 and (not others or others[0][1] < count):
            reading.framework = first


def _silent_ranks(reading: LogReading) -> None:
    """Ranks whose logs end before those of the others."""
    ranked = [source for source in reading.sources if source.rank is not None and source.lines]
    if len(ranked) < 2:
        return
    steps = [source.last_step for source in ranked if source.last_step is not None]
    times = [source.last_time for source in ranked if source.last_time]
    for source in ranked:
        late = ""
        if source.last_step is not None and source.last_step < max(steps):
            late = f"last step {source.last_step:g}, others {max(steps):g}"
        elif source.last_time and _minutes(source.last_time, max(times)) >= 5:
            late = f"last line at {source.last_time}, others at {max(times)}"
        if late:
            text = f"rank {source.rank} is silent: {late}; its last line: {source.last_line[:160]}"
            reading.events.append(
                Event("silent_rank", text, source.lines, source.path, "", source.rank, source.last_step)
            )


def _minutes(earlier: str, later: str) -> float:
    from datetime import datetime

    try:
        return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds() / 60
    except ValueError:
        return 0.0
