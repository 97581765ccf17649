"""Lints of the shell reader: faults of the text itself, with the line and the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..values import Word
from .syntax import Node

if TYPE_CHECKING:
    from .evaluator import Interpreter
    from .parser import Parser

_TRAILING_BLANKS = re.compile(r"\\[ \t]+\Z")
_COMMENT_BEHIND = re.compile(r"\\[ \t]+#.*\Z")
_COMMENT = re.compile(r"[ \t]*#")


class Break(NamedTuple):
    """Where and why the command above ended before its arguments did."""

    line: int
    why: str
    fix: str


def source_of(node: Node) -> str:
    """The source text of a node, where the parser kept it."""
    raw = getattr(node, "raw", "")
    return raw if isinstance(raw, str) else ""


def report_syntax(shell: Interpreter, parser: Parser) -> None:
    """What the parser noticed, as lints."""
    for fault in parser.faults:
        rule = "shell-limit" if fault.limit else "shell-syntax"
        severity = "warning" if fault.limit else "error"
        shell.report.lint(rule, f"cannot be read as shell: {fault.message}", shell.file, fault.line, severity)
    for line in parser.glued:
        shell.report.lint(
            "shell-glued-arguments",
            "the next line starts at its first column, so its first word becomes part of the word in front of `\\`",
            shell.file,
            line,
            "error",
            "put a blank before the backslash",
        )


def broken_continuation(shell: Interpreter, line: int, words: Sequence[Word]) -> None:
    """A command that starts with an argument: the rest of a command whose continuation broke."""
    found = find_break(shell.source_lines(), line)
    count = len(words)
    lost = f"{count} argument{'s' if count != 1 else ''} from line {line} on never reach the command"
    first = words[0].text if len(words[0].text) <= 60 else words[0].text[:59] + "…"
    shell.report.lint(
        "shell-broken-continuation",
        f"{lost} (first: {first}): {found.why} in line {found.line} ends it",
        shell.file,
        line,
        "error",
        found.fix,
    )


def find_break(lines: Sequence[str], line: int) -> Break:
    """Why the command above `line` ended. Lines are counted from 1."""
    at = line - 1
    while at > 1 and not lines[at - 1].strip():
        at -= 1
    if at < 1 or at > len(lines):
        return Break(line, "the start of the text", "put the command in front of its arguments")
    above = lines[at - 1]
    if at < line - 1:
        if above.endswith("\\"):
            return Break(at + 1, "a blank line", "remove the blank line")
        if _COMMENT.match(above):
            return _comment_break(lines, at)
    elif _COMMENT.match(above):
        return _comment_break(lines, at)
    if _TRAILING_BLANKS.search(above):
        return Break(at, "blanks behind the backslash", "remove the blanks behind the backslash")
    if _COMMENT_BEHIND.search(above):
        return Break(at, "a comment behind the backslash", "move the comment above the command")
    return Break(at, "a missing backslash", "end the line with ` \\`")


def _comment_break(lines: Sequence[str], at: int) -> Break:
    while at > 1 and _COMMENT.match(lines[at - 2]):
        at -= 1
    return Break(at, "a comment line", "move the comment line above the command")
