"""Bugs and the rules that name them: links, ranges and fixes that belong together. Form: see also test_data.py."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from grpo_guard.store.schema import Bug
from grpo_guard.store.versions import parse

KNOWLEDGE = Path(__file__).resolve().parents[2] / "knowledge"


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


PATHS = sorted((KNOWLEDGE / "bugs").glob("*/*.yaml"))
BUGS: dict[str, dict[str, Any]] = {path.stem: loaded(path) for path in PATHS}
RULES: dict[str, dict[str, Any]] = {path.stem: loaded(path) for path in (KNOWLEDGE / "rules").glob("*.yaml")}
PATTERNS = {entry["id"] for entry in loaded(KNOWLEDGE / "patterns.yaml")}
KEYS = [json.loads(path.read_text(encoding="utf-8")) for path in (KNOWLEDGE / "frameworks").glob("*/keys.json")]
RELEASES: dict[str, list[str]] = {keys["package"]: list(keys["versions"]) for keys in KEYS}


def events(bug: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(package, introduced | fixed | last_affected, version) in the order of the entry."""
    return [
        (affected["package"], kind, version)
        for affected in bug.get("affected", ())
        for event in affected["events"]
        for kind, version in event.items()
    ]


def unknown_release(package: str, version: str) -> bool:
    """Whether the package's releases are known from before this version on, and it is none of them."""
    releases = [parse(release) for release in RELEASES.get(package, [])]
    return version != "0" and bool(releases) and parse(version) >= min(releases) and parse(version) not in releases


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_bug_fits_its_schema_and_its_file_name(path):
    assert Bug.model_validate(BUGS[path.stem]).id == path.stem


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_points_to_other_bugs_that_exist(name):
    related = BUGS[name].get("related", [])
    assert [other for other in related if other not in BUGS or other == name] == []
    assert [other for other, count in Counter(related).items() if count > 1] == []


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_has_a_known_pattern_and_a_symptom(name):
    assert BUGS[name]["pattern"] in PATTERNS
    assert BUGS[name].get("symptoms")


@pytest.mark.parametrize("name", RULES)
def test_the_bugs_of_a_rule_exist_and_raise_no_second_finding(name):
    bugs = RULES[name].get("bugs", [])
    assert [bug for bug in bugs if bug not in BUGS] == []
    assert [bug for bug in bugs if "trigger" in BUGS[bug]] == []


@pytest.mark.parametrize("name", [name for name, bug in BUGS.items() if "affected" in bug])
def test_a_fix_ends_a_range(name):
    """fixed_in names a release at which one of the package's ranges ends."""
    bug = BUGS[name]
    ends = {(package, version) for package, kind, version in events(bug) if kind == "fixed"}
    assert set(bug.get("fixed_in", {}).items()) - ends == set()


@pytest.mark.parametrize("name", [name for name, bug in BUGS.items() if "affected" not in bug])
def test_a_bug_without_a_range_says_where_it_was(name):
    """A development state, a behaviour of every version, or a claim that is refuted."""
    assert len(BUGS[name].get("trigger_text", "")) > 10
    assert "trigger" not in BUGS[name]


@pytest.mark.parametrize("name", BUGS)
def test_ranges_run_from_older_to_newer(name):
    for affected in BUGS[name].get("affected", ()):
        versions = [parse(version) for event in affected["events"] for version in event.values()]
        assert versions == sorted(versions)


@pytest.mark.parametrize("name", BUGS)
def test_versions_are_releases(name):
    bug = BUGS[name]
    named = {(package, version) for package, _, version in events(bug)} | set(bug.get("fixed_in", {}).items())
    assert {pair for pair in named if unknown_release(*pair)} == set()


def test_a_version_that_is_no_release_is_seen():
    assert unknown_release("trl", "0.26.99") and unknown_release("deepspeed", "0.17.7")
    assert not unknown_release("trl", "0.26.0") and not unknown_release("torch", "0.99.0")


def test_no_two_bugs_have_one_title():
    assert [title for title, count in Counter(bug["title"] for bug in BUGS.values()).items() if count > 1] == []
