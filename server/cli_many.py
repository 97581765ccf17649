"""validate over many files: one report each, as they come, and a summary; a progress bar on a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from .cli_validate import EXIT_FINDINGS, EXIT_OK, wants_colour
from .configs.files import printable
from .configs.values import InputError
from .many import Outcome, Task, find_files, validate_each
from .model import SEVERITIES, clean, to_dict

_BAR = 30
_MAX_NAMED = 20  # unreadable files that are named


def validate_many(options: argparse.Namespace, chosen: dict[str, Any]) -> int:
    """Validate each file and print in the format asked for. Returns the exit code. Raises InputError."""
    targets = [Path(target) for target in options.targets]
    paths = find_files(targets)
    edits: Literal["", "diff", "fix", "data"] = "diff" if options.diff else "fix" if options.fix else ""
    if options.format == "sarif" and not edits:
        edits = "data"
    full = options.format == "json" or options.detail == "full"
    task = Task(chosen, edits, options.unsafe, keep_settings=full)
    total = Totals()
    outcomes = total.counted(_with_progress(validate_each(paths, task), len(paths)))
    _PRINTERS[options.format](outcomes, total, options)
    if paths and total.skipped["unreadable"] == len(paths) and not any(target.is_dir() for target in targets):
        raise InputError(total.unreadable[0][1])
    return EXIT_FINDINGS if total.fails(options.fail_on) else EXIT_OK


class Totals:
    """Counts over all files; the reports themselves are not kept."""

    def __init__(self) -> None:
        self.files = 0
        self.findings: Counter[str] = Counter()
        self.frameworks: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.suppressed = 0
        self.unreadable: list[tuple[str, str]] = []

    def counted(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """The outcomes again, each counted as it passes."""
        for outcome in outcomes:
            self.files += 1
            if outcome.report is None:
                self.skipped[outcome.skipped] += 1
                if outcome.skipped == "unreadable" and len(self.unreadable) < _MAX_NAMED:
                    self.unreadable.append((outcome.path, outcome.error))
            else:
                self.findings.update(finding.severity for finding in outcome.report.findings)
                self.frameworks[outcome.report.framework] += 1
                self.suppressed += len(outcome.report.suppressed)
            yield outcome

    def fails(self, fail_on: str) -> bool:
        limit = SEVERITIES.index(fail_on) + 1 if fail_on in SEVERITIES else 0
        return any(self.findings[level] for level in SEVERITIES[:limit])

    def data(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "validated": self.files - sum(self.skipped.values()),
            **{level: self.findings[level] for level in SEVERITIES},
            "suppressed": self.suppressed,
            "frameworks": dict(sorted(self.frameworks.items())),
            "skipped": dict(sorted(self.skipped.items())),
            "unreadable": [{"path": clean(path), "error": clean(error)} for path, error in self.unreadable],
        }

    def line(self) -> str:
        """The summary in one line."""
        validated = self.files - sum(self.skipped.values())
        counts = ", ".join(f"{self.findings[level]} {level}{'s' * (self.findings[level] != 1)}" for level in SEVERITIES)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.skipped.items()))
        skipped = f"; skipped: {kinds}" if kinds else ""
        silenced = f", {self.suppressed} suppressed" if self.suppressed else ""
        return f"{validated} of {self.files} files validated: {counts}{silenced}{skipped}"


def _text(outcomes: Iterable[Outcome], total: Totals, options: argparse.Namespace) -> None:
    """Reports that have something to say; what is the same for all files is left to the summary."""
    from .render.text import render

    colour = wants_colour()
    for outcome in outcomes:
        _say_edits(outcome)
        report = outcome.report
        if options.diff:
            sys.stdout.write(outcome.diff)
        elif report is not None and (report.findings or report.unknown_keys or options.detail == "full"):
            detail = "full" if options.detail == "full" else "brief"
            sys.stdout.write(render(report, colour=colour, detail=detail) + "\n")
    print(total.line(), file=sys.stderr if options.diff else sys.stdout)


def _json(outcomes: Iterable[Outcome], total: Totals, options: argparse.Namespace) -> None:
    """{"reports": [...], "summary": {...}}, written as the reports come."""
    sys.stdout.write('{"reports": [')
    comma = ""
    for outcome in outcomes:
        if outcome.report is not None:
            data = to_dict(outcome.report, "full")
            data |= {"patch": outcome.patch} if outcome.patch is not None else {}
            sys.stdout.write(f"{comma}\n{json.dumps(data, ensure_ascii=False)}")
            comma = ","
    sys.stdout.write(f'\n], "summary": {json.dumps(total.data(), ensure_ascii=False)}}}\n')


def _sarif(outcomes: Iterable[Outcome], total: Totals, options: argparse.Namespace) -> None:
    from .render.sarif import SarifLog

    log = SarifLog()
    for outcome in outcomes:
        _say_edits(outcome)
        if outcome.report is not None:
            log.add(outcome.report, outcome.replacements or {})
    sys.stdout.write(log.text())
    print(total.line(), file=sys.stderr)


def _github(outcomes: Iterable[Outcome], total: Totals, options: argparse.Namespace) -> None:
    from .render.github import github_text

    for outcome in outcomes:
        _say_edits(outcome)
        if outcome.report is not None:
            sys.stdout.write(github_text(outcome.report))
    print(total.line(), file=sys.stderr)


_PRINTERS = {"text": _text, "json": _json, "sarif": _sarif, "github": _github}


def _say_edits(outcome: Outcome) -> None:
    for line in outcome.edit_lines:
        print(line, file=sys.stderr)


def _with_progress(outcomes: Iterable[Outcome], count: int) -> Iterator[Outcome]:
    """The outcomes again, with a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield from outcomes
        return
    try:
        for number, outcome in enumerate(outcomes, 1):
            _clear()
            yield outcome
            done = _BAR * number // count
            name = printable(outcome.path, 40)
            sys.stderr.write(f"\r[{'#' * done}{'.' * (_BAR - done)}] {number}/{count} {name}")
            sys.stderr.flush()
    finally:
        _clear()


def _clear() -> None:
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()
