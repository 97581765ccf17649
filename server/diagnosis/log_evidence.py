"""What the logs of a run add to the evidence: error lines, telling lines, signals, curves, settings, versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..configs.files import printable
from ..logs import LogReading, read_logs
from ..logs.folders import logs_in
from ..logs.formats.wandb_file import looks_like_wandb, output_chunks
from ..logs.lines import Chunk, Cutter, bare, chunks_of_file, chunks_of_text, open_log
from ..model import Curve
from . import signatures
from .evidence import Evidence
from .really_ran import versions_that_differ
from .signals import LogSignal, detect

_ALL_LINES = 60  # a log this short is read whole; of a longer one the telling lines
_TELLING_LINES = 40
_LAST_LINES = 10
_SHOWN_CHARS = 300
_ODD_SHARE = 0.1  # of a line's characters may be unprintable
_TELLING = (
    *("error", "exception", "traceback", "assert", "fatal", "warn", "fail", "nan", "out of memory", "timeout"),
    *("timed out", "watchdog", "killed", "abort", "mismatch", "cannot", "unable", "invalid", "missing", "unexpected"),
    *("deprecat", "错误", "失败", "异常"),
)
_EXCERPT_LINES = 20  # of a longer log, rows of metrics are no words: each metric is named whether or not it is odd
_ROW_METRICS = 3
_METRIC = re.compile(r"[\w/@)][\"']?\s?[:=|]\s?\"?-?(?:\d|nan|inf)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_CURVES = 8
_TIME_SHARE = 0.8  # of a request's time; the rest is for ranking and for the config
_TOLD = 0.3  # weight from which a signal is named as evidence for a pattern
_SEVERITY = {"error": 1.0, "warning": 0.7, "info": 0.4}
# Shown when no signal names a metric.
_USUAL = ("reward_mean", "score_mean", "loss", "policy_loss", "grad_norm", "kl", "entropy", "response_length")


def take_logs(found: Evidence, logs: Sequence[Path | str]) -> None:
    """Read all logs as those of one run. Raises InputError for a path that cannot be read."""
    reading = read_logs(logs)
    looked_at = [_take_lines(found, log) for log in _files(logs)]
    found.log_read = any(source.last_line or source.lines > 1 or source.rows for source in reading.sources)
    signals = detect(reading)
    found.signals += signals
    found.leanings = _leanings(signals)
    found.told = _told(signals)
    found.curves = _curves(reading, signals)
    found.framework = found.framework or reading.framework
    found.signals += versions_that_differ(found.versions, reading.versions)
    found.versions = {**reading.versions, **found.versions}
    found.printed = {key: row.value for key, row in reading.config.items()}
    coverage = reading.coverage
    notes = [*found.coverage["notes"], *coverage["notes"]]
    notes += [] if all(looked_at) else ["the time was over: not every line was compared with the known error messages"]
    found.coverage |= {**coverage, "notes": notes}


def _files(logs: Sequence[Path | str]) -> Iterator[Path | str]:
    for log in logs:
        if isinstance(log, Path) and log.is_dir():
            yield from logs_in(log)[0]
        else:
            yield log


def _take_lines(found: Evidence, log: Path | str) -> bool:
    """Take what tells something; false when the request's time was over before the log was."""
    scan, telling, cutter = signatures.Scan(), _Telling(), Cutter(share=_TIME_SHARE)
    for chunk in _chunks(log, cutter):
        lines = [bare(line)[0] for line in chunk.lines] if "\x1b" in chunk.text else chunk.lines
        scan.feed(chunk.numbers, lines)
        telling.feed(lines)
    found.hits += scan.hits
    found.lines += telling.kept()
    return not cutter.stopped


def _chunks(log: Path | str, cutter: Cutter) -> Iterator[Chunk]:
    if isinstance(log, str):
        yield from chunks_of_text(log, cutter)
    elif "tfevents" not in log.name:
        with open_log(log) as file:
            if looks_like_wandb(file.read(16)):
                yield from output_chunks(file, cutter)
            else:
                file.seek(0)
                yield from chunks_of_file(file, cutter)


class _Telling:
    """Keeps the few lines of a log that tell something: each shape of line once, and the last ones."""

    def __init__(self) -> None:
        self.count = 0
        self._all: list[str] = []
        self._telling: dict[str, str] = {}
        self._last: list[str] = []

    def feed(self, chunk: Sequence[str]) -> None:
        self.count += len(chunk)
        self._all += chunk[: max(0, _ALL_LINES - len(self._all))]
        self._last = [*self._last, *chunk[-_LAST_LINES:]][-_LAST_LINES:]
        if len(self._telling) < _TELLING_LINES:
            lines = "\n".join(chunk).lower()
            words = [word for word in _TELLING if word in lines]
            for line in chunk if words else ():
                lowered = line.lower()
                if any(word in lowered for word in words) and len(self._telling) < _TELLING_LINES:
                    self._telling.setdefault(_NUMBER.sub("0", line[:_SHOWN_CHARS]), line)

    def kept(self) -> list[str]:
        lines = self._all if self.count <= _ALL_LINES else list(dict.fromkeys([*self._telling.values(), *self._last]))
        lines = [line for line in lines if _is_text(line[:_SHOWN_CHARS])]
        if self.count > _EXCERPT_LINES:
            lines = [line for line in lines if len(_METRIC.findall(line[:_SHOWN_CHARS])) < _ROW_METRICS]
        return [printable(line.strip(), _SHOWN_CHARS) for line in lines if line.strip()]


def _is_text(line: str) -> bool:
    """Whether a line is something that a program wrote for people: bytes of another kind speak for nothing."""
    if line.isascii() and line.isprintable():
        return True
    odd = sum(not char.isprintable() and char not in "\t\r\x1b" for char in line) + line.count("\ufffd")
    return odd <= _ODD_SHARE * len(line)


def _leanings(signals: Sequence[LogSignal]) -> dict[str, float]:
    """Per pattern what the signals say for it: the strongest whole, each further one half of the one before."""
    weights: dict[str, list[float]] = {}
    for signal in signals:
        for pattern, weight in signal.patterns.items():
            weights.setdefault(pattern, []).append(weight * _SEVERITY[signal.severity])
    return {
        pattern: sum(weight * 0.5**place for place, weight in enumerate(sorted(row, reverse=True)))
        for pattern, row in weights.items()
    }


def _told(signals: Sequence[LogSignal]) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for signal in signals:
        place = f" (step {signal.step})" if signal.step is not None else f" (line {signal.line})" if signal.line else ""
        for pattern, weight in signal.patterns.items():
            if weight >= _TOLD:
                told.setdefault(pattern, []).append(f"{signal.title}{place}: {printable(signal.evidence, 200)}")
    return told


def _curves(reading: LogReading, signals: Sequence[LogSignal]) -> list[Curve]:
    """The metrics that signals are about, else the usual ones."""
    names = dict.fromkeys([signal.metric for signal in signals] + list(_USUAL))
    marks: dict[str, list[tuple[float, str]]] = {}
    for signal in signals:
        if signal.step is not None and signal.severity != "info":
            marks.setdefault(signal.metric, []).append((signal.step, signal.title))
    found = []
    for name in names:
        series = reading.series.get(name) or next((row for row in reading.series.values() if row.name == name), None)
        if series is not None and len(series) > 1:
            found.append(Curve(series.name, series.steps, series.values, marks.get(name, ())))
    return found[:_CURVES]
