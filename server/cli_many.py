"""validate over many files: one report each, as they come, and a summary; a progress bar on a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

from . import __version__
from .cli_validate import EXIT_FINDINGS, EXIT_OK, wants_colour
from .configs.files import printable
from .configs.values import InputError
from .many import Checked, Outcome, Task, check_project_files, find_files, validate_each
from .model import SEVERITIES, clean, to_dict

_BAR = 30
_MAX_NAMED = 20  # unreadable files that are named


def validate_many(options: argparse.Namespace, chosen: dict[str, Any]) -> int:
    """Validate each file and print in the format asked for. Returns the exit code. Raises InputError."""
    targets = [Path(target) for target in options.targets]
    paths = find_files(targets)
    check_project_files(targets)
    edits: Literal["", "diff", "fix", "data"] = "diff" if options.diff else "fix" if options.fix else ""
    if options.format == "sarif" and not edits:
        edits = "data"
    task = Task(chosen, _shower(options), edits, options.unsafe)
    total = Totals()
    outcomes = total.counted(_with_progress(validate_each(paths, task), len(paths)))
    _PRINTERS[options.format](outcomes, total, options)
    if options.format != "json":
        for _, error in total.unreadable:
            print(f"unreadable: {printable(error, 300)}", file=sys.stderr)
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
            if outcome.skipped:
                self.skipped[outcome.skipped] += 1
                if outcome.skipped == "unreadable" and len(self.unreadable) < _MAX_NAMED:
                    self.unreadable.append((outcome.path, outcome.error))
            else:
                self.findings.update(outcome.findings)
                self.frameworks[outcome.framework] += 1
                self.suppressed += outcome.suppressed
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


# --- how one report is shown; these run in the workers ---------------------------------------------------------------


def _shower(options: argparse.Namespace) -> Callable[[Checked], Any]:
    if options.format == "text":
        return partial(_text, colour=wants_colour(), detail=options.detail, diff=options.diff)
    return _SHOWN[options.format]


def _text(checked: Checked, *, colour: bool, detail: str, diff: bool) -> str:
    """A report that has something to say; the batch table and what is not decided are shown with --detail full only."""
    from .render.text import render

    report = checked.report
    if diff:
        return checked.diff
    if not report.findings and not report.unknown_keys and detail != "full":
        return ""
    return render(report, colour=colour, detail="full" if detail == "full" else "brief") + "\n"


def _json_of(checked: Checked) -> str:
    data = to_dict(checked.report, "full")
    data |= {"patch": checked.patch} if checked.patch is not None else {}
    return json.dumps(data, ensure_ascii=False)


def _sarif_of(checked: Checked) -> Any:
    from .render.sarif import SarifLog

    log = SarifLog(__version__)
    log.add(checked.report, checked.replacements)
    return log


def _github_of(checked: Checked) -> str:
    from .render.github import github_text

    return github_text(checked.report)


_SHOWN: dict[str, Callable[[Checked], Any]] = {"json": _json_of, "sarif": _sarif_of, "github": _github_of}


# --- the whole output ------------------------------------------------------------------------------------------------


def _print_text(outcomes: Iterable[Outcome], total: Totals, options: argparse.Namespace) -> None:
    for outcome in outcomes:
        _say_edits(outcome)
        sys.stdout.write(outcome.shown or "")
    print(total.line(), file=sys.stderr if options.diff or options.format == "github" else sys.stdout)


def _print_json(outcomes: Iterable[Outcome], total: Totals, _: argparse.Namespace) -> None:
    """{"reports": [...], "summary": {...}}, written as the reports come."""
    sys.stdout.write('{"reports": [')
    comma = ""
    for outcome in outcomes:
        if outcome.shown is not None:
            sys.stdout.write(f"{comma}\n{outcome.shown}")
            comma = ","
    sys.stdout.write(f'\n], "summary": {json.dumps(total.data(), ensure_ascii=False)}}}\n')


def _print_sarif(outcomes: Iterable[Outcome], total: Totals, _: argparse.Namespace) -> None:
    from .render.sarif import SarifLog

    log = SarifLog(__version__)
    for outcome in outcomes:
        _say_edits(outcome)
        if outcome.shown is not None:
            log.join(outcome.shown)
    sys.stdout.write(log.text())
    print(total.line(), file=sys.stderr)


_PRINTERS = {"text": _print_text, "json": _print_json, "sarif": _print_sarif, "github": _print_text}


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
