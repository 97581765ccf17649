"""Each fix of a report as replacements of regions, for formats that carry fixes as data (SARIF). Each was tried alone:
the result was read and validated again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path
from typing import Any

from ..model import Report
from .run import fix_run


@dataclass(frozen=True, slots=True)
class Replacement:
    """Characters of a file that are replaced: from (line, column) up to before (end_line, end_column), from 1."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def replacements(paths: Sequence[Path], report: Report, options: Mapping[str, Any]) -> dict[int, list[Replacement]]:
    """The fix of each finding that can be made, by the finding's index in the report."""
    found: dict[int, list[Replacement]] = {}
    for number, finding in enumerate(report.findings):
        if finding.fix is None or not finding.fix.edits:
            continue
        fixed = fix_run(paths, options, unsafe=True, report=report, only=finding)
        changes = [_between(name, fixed.old_texts[name], text) for name, text in fixed.patch.texts.items()]
        if changes:
            found[number] = changes
    return found


def _between(file: str, old: str, new: str) -> Replacement:
    """The one region in which two texts differ."""
    start = len(commonprefix((old, new)))
    tail = len(commonprefix((old[start:][::-1], new[start:][::-1])))
    stop = len(old) - tail
    line, column = _place(old, start)
    end_line, end_column = _place(old, stop)
    return Replacement(file, line, column, end_line, end_column, new[start : len(new) - tail])


def _place(text: str, offset: int) -> tuple[int, int]:
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1
