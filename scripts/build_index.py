"""Compile knowledge/ into what the program loads: index.jsonl for validate, lookup.json for the look-ups, memory.json
for the memory estimate.

python scripts/build_index.py            write all
python scripts/build_index.py --check    exit 1 when a committed one is stale
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from build_lookup import build_lookup
from build_memory import build_memory
from knowledge_files import KNOWLEDGE, checked, conforms, load, ranges_of

from grpo_guard.checks.expr import parse
from grpo_guard.store.index import GROUPS
from grpo_guard.store.schema import BadPair, Bug, Image, Rule


def compile_rule(path: Path) -> dict[str, Any]:
    rule = _parsed(checked(Rule, path))
    if "per_framework" in rule:
        rule["per_framework"] = {name: _parsed(own) for name, own in rule["per_framework"].items()}
    return rule


def _parsed(part: dict[str, Any]) -> dict[str, Any]:
    """A rule, or a framework's part of one, with its conditions compiled."""
    return {name: parse(value) if name in ("applies_when", "condition") else value for name, value in part.items()}


def compile_bug(path: Path) -> dict[str, Any] | None:
    """The part of a bug that `validate` needs; None when no config shows it, or it is not established."""
    bug = checked(Bug, path)
    if "trigger" not in bug or bug["verdict"] not in ("confirmed", "reported"):
        return None
    rule = {name: bug[name] for name in ("id", "title", "severity", "confidence", "pattern", "verdict", "anchor")}
    rule["affected"] = {entry["package"]: ranges_of(entry["events"]) for entry in bug.get("affected", ())}
    rule["condition"] = parse(bug["trigger"])
    rule["message"] = bug["mechanism"]
    rule["fix"] = {"text": bug.get("workaround") or bug["fix"]}
    rule["bugs"] = [bug["id"]]
    rule["references"] = bug["references"]
    rule["last_verified"] = bug["last_verified"]
    rule |= {name: bug[name] for name in ("frameworks", "focus") if bug.get(name)}
    return rule


def compile_pair(entry: dict[str, Any], path: Path) -> dict[str, Any]:
    """A known-bad pair as a rule that holds only where the versions of all its packages are known."""
    pair = conforms(BadPair, entry, path)
    if name := pair.pop("bug", ""):
        bug = checked(Bug, next((KNOWLEDGE / "bugs").glob(f"*/{name}.yaml")))
        ranges = {row["package"]: ranges_of(row["events"]) for row in bug["affected"]}
        told = {key: bug[key] for key in ("title", "verdict", "references", "last_verified", "confidence", "pattern")}
        pair = {"affected": ranges, "message": bug["mechanism"], "fix": bug["fix"], "bugs": [name]} | told | pair
    if len(pair["affected"]) < 2 or pair["verdict"] not in ("confirmed", "reported"):
        raise SystemExit(f"versions/{pair['id']}: needs two packages with ranges, and a verdict that raises findings")
    text = pair.get("condition", "true")
    return {"pattern": "version_incompatibility", "anchor": ""} | pair | {
        "condition": parse(text), "fix": {"text": pair["fix"]}, "needs_versions": True, "focus": ["knowledge"],
    }  # fmt: skip


def build() -> dict[str, Any]:
    frameworks = sorted((KNOWLEDGE / "frameworks").glob("*/adapter.yaml"))
    bugs = sorted((KNOWLEDGE / "bugs").glob("*/*.yaml"))
    seed = KNOWLEDGE / "seed_rules.yaml"
    pairs, images = KNOWLEDGE / "versions" / "known_bad.yaml", KNOWLEDGE / "versions" / "images.yaml"
    return {
        "fields": load(KNOWLEDGE / "fields.yaml"),
        "adapters": {path.parent.name.replace("_", "-"): load(path) for path in frameworks},
        "bug_rules": [rule for path in bugs if (rule := compile_bug(path)) is not None],
        "rules": [compile_rule(path) for path in sorted((KNOWLEDGE / "rules").glob("*.yaml"))],
        "lints": load(KNOWLEDGE / "lints.yaml"),
        "model_families": load(KNOWLEDGE / "model_families.yaml"),
        "pair_rules": [compile_pair(entry, pairs) for entry in load(pairs)],
        "images": [conforms(Image, row, images) for row in load(images)],
        "pins": json.loads((KNOWLEDGE / "versions" / "pins.json").read_text(encoding="utf-8"))["packages"],
        "seed_rules": load(seed) if seed.exists() else [],
    }


def in_lines(data: dict[str, Any]) -> str:
    """The index as store/index.py reads it: a table of contents, then a line for each section, adapter and rule."""
    lines: list[str] = []

    def add(entries: Iterable[Any]) -> list[int]:
        first = len(lines) + 1  # line 0 is the table of contents
        lines.extend(written(entry) for entry in entries)
        return [first, len(lines) + 1]

    contents: dict[str, Any] = {group: add(data[group]) for group in GROUPS}
    contents["adapters"] = dict(zip(data["adapters"], range(*add(data["adapters"].values())), strict=True))
    sections = {name: entry for name, entry in data.items() if name not in (*GROUPS, "adapters")}
    contents["sections"] = dict(zip(sections, range(*add(sections.values())), strict=True))
    rules = [rule for group in GROUPS for rule in data[group]]
    of: dict[str, list[int]] = {"": []}
    for number, rule in enumerate(rules, 1):  # the groups are the first lines
        for framework in rule.get("frameworks", ("",)):
            of.setdefault(framework, []).append(number)
    focus = Counter(tag for rule in rules for tag in rule.get("focus", ()))
    return written(contents | {"of": of, "count": {"all": len(rules), **focus}}) + "".join(lines)


def written(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=None, separators=(",", ":"), sort_keys=True) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 when stale")
    arguments = parser.parse_args()
    code = 0
    texts = {
        "index.jsonl": in_lines(build()), "lookup.json": written(build_lookup()), "memory.json": written(build_memory())
    }  # fmt: skip
    for name, text in texts.items():
        target = KNOWLEDGE / name
        if not arguments.check:
            target.write_text(text, encoding="utf-8")
            print(f"{target.relative_to(KNOWLEDGE.parent)}: {len(text):,} bytes")
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            print(f"{name} is stale: run python scripts/build_index.py")
            code = 1
        else:
            print(f"{name} is fresh")
    return code


if __name__ == "__main__":
    sys.exit(main())
