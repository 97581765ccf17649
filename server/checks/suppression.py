"""Inline suppression: `# grpo-guard: ignore[rule] reason` in the user's own file silences a finding there.

The comment counts for its own line and for the next command or setting (all lines of it, where it is continued by
backslashes); `ignore-file[rule]` counts for the whole file. A reason is required: a comment without one silences
nothing and is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..model import Finding

_COMMENT = re.compile(r"(?:#|//)\s*grpo-guard:\s*ignore(-file)?\[([\w, -]{1,300})\]\s*(.*)")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: the rules it names, the lines it covers (None: the whole file), its reason."""

    file: str
    line: int
    rules: frozenset[str]
    lines: frozenset[int] | None
    reason: str

    def covers(self, finding: Finding) -> bool:
        place = finding.setting
        if finding.rule not in self.rules or not self.reason:
            return False
        if place is None or not place.file:
            return self.lines is None
        return place.file == self.file and (self.lines is None or place.line in self.lines)


def suppressions(texts: Mapping[str, str]) -> list[Suppression]:
    """All suppression comments of the files, by name of the file."""
    return [found for file, text in texts.items() if "grpo-guard:" in text for found in _of_file(file, text)]


def _of_file(file: str, text: str) -> Iterable[Suppression]:
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if match is None:
            continue
        whole_file, rules, reason = match.groups()
        covered = None if whole_file else frozenset((number, *_following(lines, number)))
        yield Suppression(file, number, frozenset(rules.replace(",", " ").split()), covered, reason.strip())


def _following(lines: list[str], number: int) -> Iterable[int]:
    """Line numbers of what follows line `number`: the next line that is no comment, with its continuations."""
    start = next((n for n in range(number + 1, len(lines) + 1) if not _is_comment(lines[n - 1])), None)
    if start is None:
        return
    yield start
    for n in range(start, len(lines)):
        if not lines[n - 1].rstrip().endswith("\\"):
            return
        yield n + 1


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "//"))
