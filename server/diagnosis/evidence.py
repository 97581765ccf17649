"""What a caller hands over, gathered into one thing that the ranking reads: words, log lines, settings, versions."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..configs.files import clean, printable
from ..configs.values import InputError
from ..limits import MAX_LINE_CHARS, MAX_SYMPTOM_CHARS
from ..model import Finding
from . import signatures
from .model import Signal

_ALL_LINES = 60  # a log this short is read whole; of a longer one the telling lines
_TELLING_LINES = 40
_LAST_LINES = 10
_SHOWN_CHARS = 300
_TELLING = (
    *("error", "exception", "traceback", "assert", "fatal", "warn", "fail", "nan", "out of memory", "timeout"),
    *("timed out", "watchdog", "killed", "abort", "mismatch", "cannot", "unable", "invalid", "missing", "unexpected"),
    *("deprecat", "错误", "失败", "异常"),
)
_NUMBER = re.compile(r"\d+")
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


@dataclass(slots=True)
class Evidence:
    """All that is known of the run. Texts are the user's: data, never instructions."""

    words: str = ""
    lines: list[str] = field(default_factory=list)  # of the logs, those that tell something
    config: str = ""
    framework: str = ""
    versions: dict[str, str] = field(default_factory=dict)  # of packages, comparable
    facts: list[str] = field(default_factory=list)  # NAME=VALUE that is no version: "gpu=4090"
    hits: list[signatures.Hit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    leanings: dict[str, float] = field(default_factory=dict)  # pattern: what the signals of the logs say for it
    coverage: dict[str, Any] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.words.strip() or self.lines or self.config.strip())


def gather(
    words: str,
    logs: Sequence[Path | str],
    config: str,
    framework: str,
    versions: Mapping[str, str],
) -> Evidence:
    """Read everything once. Raises InputError for a file that cannot be read; odd content never raises."""
    found = Evidence(clean(words[:MAX_SYMPTOM_CHARS]), config=clean(config), framework=framework.strip().lower())
    found.coverage = {"words": len(found.words), "files": [], "notes": []}
    if len(words) > MAX_SYMPTOM_CHARS:
        found.coverage["notes"].append(f"only the first {MAX_SYMPTOM_CHARS:,} characters of the words were read")
    _take_versions(found, versions)
    for log in logs:
        _take_log(found, log)
    # What people paste as their words often holds the error line.
    found.hits += signatures.find(found.words.splitlines())
    _take_config(found)
    return found


def _take_versions(found: Evidence, versions: Mapping[str, str]) -> None:
    from ..store.versions import is_version

    for name, value in versions.items():
        if is_version(value):
            found.versions[name.lower().replace("_", "-")] = value
        else:
            found.facts.append(f"{name}={value}")


def _take_log(found: Evidence, log: Path | str) -> None:
    name = printable(log) if isinstance(log, Path) else "log"
    scan, telling = signatures.Scan(), _Telling()
    lines = _lines_of(log) if isinstance(log, Path) else iter(log.splitlines())
    for first, chunk in signatures.chunks(_COLOUR.sub("", line) if "\x1b" in line else line for line in lines):
        scan.feed(first, chunk)
        telling.feed(chunk)
    found.hits += scan.hits
    found.lines += telling.kept()
    found.coverage["files"].append({"path": name, "lines": telling.count})


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
        if len(self._telling) < _TELLING_LINES and _tells("\n".join(chunk)):
            for line in filter(_tells, chunk):
                if len(self._telling) < _TELLING_LINES:
                    self._telling.setdefault(_NUMBER.sub("0", line[:_SHOWN_CHARS]), line)

    def kept(self) -> list[str]:
        lines = self._all if self.count <= _ALL_LINES else dict.fromkeys([*self._telling.values(), *self._last])
        return [printable(line.strip(), _SHOWN_CHARS) for line in lines if line.strip()]


def _tells(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _TELLING)


def _lines_of(path: Path) -> Iterator[str]:
    """Lines of a regular file of any size and content. Raises InputError when it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError(f"{printable(path)}: not a regular file; name a log file")
        with open(path, encoding="utf-8", errors="replace") as file:
            while line := file.readline(MAX_LINE_CHARS):
                yield line.rstrip("\n")
    except OSError as error:
        raise InputError(f"{printable(path)}: cannot be read ({error.strerror or 'I/O error'})") from None
    except ValueError:
        raise InputError(f"{printable(path)}: not a file name; check the path") from None


def _take_config(found: Evidence) -> None:
    """Run the rules on the config as far as it can be read; what cannot be read is coverage, not an error."""
    if not found.config.strip():
        return
    from ..validate import validate_text

    try:
        report = validate_text(found.config, framework=found.framework, versions=found.versions)
    except InputError as error:
        found.coverage["notes"].append(f"config: {printable(error, 200)}")
        return
    found.findings = list(report.findings)
    found.framework = found.framework or report.framework
    found.versions = {**report.versions, **found.versions}
    found.coverage["config"] = {"format": [source["format"] for source in report.sources], "notes": report.notes[:5]}
