"""Error lines of known bugs and symptoms are found by one pass over a log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_guard.diagnosis import index
from grpo_guard.diagnosis.signatures import Hit, Scan, compile_signature, find
from grpo_guard.store import lookup

EXAMPLES = [
    (f"{kind}:{entry['id']}", example)
    for kind, entries in (("bug", lookup.bugs()), ("symptom", lookup.symptoms()))
    for entry in entries.values()
    for example in entry.get("examples", ())
]
HEALTHY = Path(__file__).parents[1] / "knowledge" / "healthy_lines.txt"


@pytest.mark.parametrize(
    ("entry", "example"), EXAMPLES, ids=[f"{entry} {at}" for at, (entry, _) in enumerate(EXAMPLES)]
)
def test_each_example_is_found_amid_noise(entry: str, example: str) -> None:
    noise = [f"step:{step} - actor/pg_loss:0.01 - timing_s/gen:31.5" for step in range(40)]
    hits = find([*noise, f"(TaskRunner pid=71) {example}", *noise])
    assert entry in {hit.entry for hit in hits if hit.line == 41}


def test_healthy_lines_show_nothing() -> None:
    assert find(HEALTHY.read_text(encoding="utf-8").splitlines()) == []


def test_the_first_line_counts() -> None:
    line = "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"
    assert Hit("symptom:nan_loss", 2, line) in find(["ok", line, line])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (
            r"EngineDeadError: EngineCore encountered an issue",
            (["encountered", "enginecore"], ["enginedeaderror: enginecore encountered an issue"]),
        ),
        (r"(?:foo|bar) nothing sure", (["nothing"], [" nothing sure"])),
        (r"prefix_[a-z]+_Suffix", ([], ["_suffix", "prefix_"])),
        (r"[nN][aA][nN] loss", ([], ["nan loss"])),
        (r"[a-z]+", ([], [])),
    ],
)
def test_only_words_that_every_match_contains_are_required(pattern: str, words: tuple[list[str], list[str]]) -> None:
    assert compile_signature(pattern) == words


def test_required_words_never_hide_a_match() -> None:
    for entry, pattern, required, pieces in index.data()["signatures"]:
        kind, _, name = entry.partition(":")
        examples = (lookup.bugs() if kind == "bug" else lookup.symptoms())[name]["examples"]
        for example in examples:
            if re.search(pattern, example, re.IGNORECASE):
                assert set(required) <= set(re.sub(r"[^a-zA-Z]", " ", example).lower().split()), (entry, pattern)
                assert all(piece in example.lower() for piece in pieces), (entry, pattern)


PIECES = sorted({example for _, example in EXAMPLES} | {word for _, example in EXAMPLES for word in example.split()})


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=5).map(" ".join),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
    st.integers(1, 7),
)
def test_the_shapes_of_lines_never_hide_a_match(texts: list[str], upper: bool, size: int) -> None:
    lines = [line for text in texts for line in (text.upper() if upper else text).splitlines() or [""]]
    plain = {}
    for entry, pattern, _, _ in index.data()["signatures"]:
        for number, line in enumerate(lines, start=1):
            if re.search(pattern, line, re.IGNORECASE | re.ASCII):
                plain[entry] = min(number, plain.get(entry, number))
                break
    scan = Scan()
    for start in range(0, len(lines), size):
        chunk = lines[start : start + size]
        scan.feed(range(start + 1, start + 1 + len(chunk)), chunk)
    found = {hit.entry: hit.line for hit in scan.hits}
    assert {entry: found.get(entry) for entry in plain} == plain


def test_more_shapes_than_are_kept() -> None:
    error = "EngineDeadError: EngineCore encountered an issue"
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = [" ".join(letters[: at % 26 + 1] for at in (row, row // 26, row // 676, row // 7)) for row in range(30_000)]
    scan = Scan()
    for start in range(0, len(lines), 1000):
        scan.feed(range(start + 1, start + 1001), lines[start : start + 1000])
    scan.feed(range(30_001, 30_004), ["x" * 100_000, "y " * 50_000 + error, error])
    assert [hit.line for hit in scan.hits if hit.text == error or hit.text.startswith("y")] == [30_003]


def test_hostile_text_gets_an_answer() -> None:
    """Quadratic time would not end here."""
    assert (
        find(["a" * 5_000_000, "error " * 200_000, "\ud800\x00\x1b[31m" * 1000, json.dumps({"x": "nan" * 10_000})])
        == []
    )
