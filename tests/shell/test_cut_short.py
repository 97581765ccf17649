"""Scripts that end, or go wrong, at any place: a reading or one line that says why, never a traceback."""

from __future__ import annotations

import itertools

import pytest

from grpo_guard.configs.shell import read_script
from grpo_guard.configs.values import InputError

PIECES = (
    "case", "case x", "case x in", "case x in a", "case x in a)", "for", "for x", "for x in", "for x in a;",
    "for x in a; do", "for ((", "for ((i=0", "if", "if x", "if x; then", "if x; then y; else", "elif", "while",
    "while x; do", "until", "function", "function f", "f()", "f() {", "{", "(", "((", "[[", "[[ x", "[[ x ==", "!",
    "time", "coproc", "select", "select x in", "a |", "a &&", "a ||", "a <", "a <<", "a <<E", "a <<<", "a >", "x=",
    "x=(", "x=(a", "$(", "`", "${", "${x", "${x:", "${x:-", "${x[", "$((", "$((1+", "\\", "'", '"', "a &", "&", "|",
    ";", ";;", ")", "}", "do", "done", "then", "fi", "esac", "in", "export", "local x=(", "x[", "x[1]=", "arr+=(",
    "<(", ">(", "$'", '$"', "{a,", "{1..", "~", "#", "a\\",
)  # fmt: skip


@pytest.mark.parametrize("first", PIECES)
def test_any_two_pieces(first: str) -> None:
    for second, between in itertools.product(("", *PIECES), (" ", "\n")):
        try:
            read_script(f"{first}{between}{second}", "run.sh")
        except InputError as error:
            assert str(error)
