"""Each fix of a report as replacements of regions, for formats that carry fixes as data (SARIF). Each was tried alone:
the result was read and validated again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """The one region in which two texts differ: characters of a line, or whole lines where their number changes."""
    before, after = old.split("\n"), new.split("\n")
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    if len(before) != len(after):
        text = "".join(f"{line}\n" for line in after[head : len(after) - tail])
        return Replacement(file, head + 1, 1, len(before) - tail + 1, 1, text)
    end = len(before) - tail
    one, other = "\n".join(before[head:end]), "\n".join(after[head:end])
    start = _common(one, other)
    rest = _common(one[start:][::-1], other[start:][::-1])
    line, column = _place(one, start)
    end_line, end_column = _place(one, len(one) - rest)
    return Replacement(file, head + line, column, head + end_line, end_column, other[start : len(other) - rest])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1."""
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1
