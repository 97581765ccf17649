"""Every rule on golden files in native syntax: tests/cases/rules/<rule>/fires*.* and silent*.*, found by name.

A first line `# grpo-guard-test: --version verl=0.8.0 --world-size 8` gives the options of the command line; for formats
without comments they stand in a file of the same name with the ending `.options`.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from grpo_guard.store.index import index
from grpo_guard.validate import validate_targets

CASES = Path(__file__).parent / "cases" / "rules"
FILES = sorted(
    path for path in CASES.glob("*/*") if path.suffix != ".options" and path.name.startswith(("fires", "silent"))
)
MARK = "grpo-guard-test:"


def options_of(path: Path) -> dict[str, Any]:
    beside = path.with_suffix(".options")
    text = beside.read_text() if beside.exists() else next((x for x in path.read_text().splitlines() if MARK in x), "")
    words = iter(shlex.split(text.partition(MARK)[2] or (text if beside.exists() else "")))
    options: dict[str, Any] = {"versions": {}}
    for word in words:
        if word == "--version":
            name, _, version = next(words).partition("=")
            options["versions"][name] = version
        elif word in ("--world-size", "--gpu", "--framework"):
            value = next(words)
            options[word[2:].replace("-", "_")] = int(value) if word == "--world-size" else value
        elif word == "--with":  # a further file of the same run, in the case's folder
            options.setdefault("also", []).append(path.parent / next(words))
        else:
            raise AssertionError(f"{path}: option {word} is not known to this test")
    return options


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_rule_case(path: Path) -> None:
    options = options_of(path)
    report = validate_targets([path, *options.pop("also", [])], **options)
    fired = {finding.rule for finding in report.findings}
    undecided = {row.rule for row in report.undecided}
    rule = path.parent.name
    if path.name.startswith("fires"):
        assert rule in fired, f"fired: {sorted(fired)}, undecided: {sorted(undecided)}"
    else:
        assert rule not in fired
        assert rule not in undecided, "a silent case decides its rule"


def test_every_rule_has_a_firing_and_a_silent_case() -> None:
    without = [
        rule["id"]
        for rule in index()["rules"]
        if not (list(CASES.glob(f"{rule['id']}/fires*")) and list(CASES.glob(f"{rule['id']}/silent*")))
    ]
    assert without == []


def test_every_case_belongs_to_a_rule() -> None:
    rules = {rule["id"] for rule in index()["rules"]}
    assert {path.parent.name for path in FILES} <= rules
