"""The compiled knowledge: a file of JSON lines made by scripts/build_index.py, so that start-up parses no YAML.

Its first line is a table of contents; every section, adapter and rule is a line of its own, parsed when it is first
asked for: a check of one run needs the rules of one framework.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ..paths import data_dir

GROUPS = ("rules", "bug_rules", "pair_rules")


@cache
def index() -> dict[str, Any]:
    """The whole: sections, "adapters" by name, the three groups of rules. Raises FileNotFoundError when not built."""
    contents, _ = _file()
    whole = {name: _line(number) for name, number in contents["sections"].items()}
    whole["adapters"] = {name: _line(number) for name, number in contents["adapters"].items()}
    return whole | {group: [_line(number) for number in range(*contents[group])] for group in GROUPS}


def section(name: str) -> Any:
    """One of "fields", "images", "lints", "model_families", "pins", "seed_rules"."""
    return _line(_file()[0]["sections"][name])


def adapter(framework: str) -> dict[str, Any]:
    """Field map and names of one framework, from knowledge/frameworks/<name>/adapter.yaml."""
    found: dict[str, Any] = _line(_file()[0]["adapters"][framework.replace("_", "-")])
    return found


def package_of(framework: str) -> str:
    """The package that a framework is installed as; its own name where the knowledge has no other."""
    known = framework in _file()[0]["adapters"]
    return str(adapter(framework).get("package", framework)) if known else framework


@cache
def rules_of(framework: str) -> list[dict[str, Any]]:
    """The rules of all groups that name the framework, or none."""
    contents, _ = _file()
    return [_line(number) for number in sorted(contents["of"][""] + contents["of"].get(framework, []))]


@cache
def elsewhere(framework: str, focus: str) -> int:
    """How many rules name only other frameworks; those of one focus, or "all"."""
    here = sum(focus == "all" or focus in rule.get("focus", ()) for rule in rules_of(framework))
    found: int = _file()[0]["count"].get(focus, 0) - here
    return found


@cache
def _line(number: int) -> Any:
    return json.loads(_file()[1][number])


@cache
def _file() -> tuple[dict[str, Any], list[bytes]]:
    """The table of contents, and the lines, which it names by number.

    "sections" and "adapters": line by name; each group: first line and the one behind its last; "of": lines of the
    rules that name a framework, "" for those that name none; "count": rules by focus.
    """
    lines = (data_dir("knowledge") / "index.jsonl").read_bytes().split(b"\n")
    return json.loads(lines[0]), lines


def forget() -> None:
    """Drop what was loaded, for tests of an installation that is not whole."""
    for loaded in (index, rules_of, elsewhere, _line, _file):
        loaded.cache_clear()
