"""Compile knowledge/**/*.yaml into knowledge/index.json, which is what the program loads.

python scripts/build_index.py            write the index
python scripts/build_index.py --check    exit 1 when the committed index is stale
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from grpo_guard.checks.expr import parse
from grpo_guard.store.schema import Bug, Rule

KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge"


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def checked(model: type[BaseModel], path: Path) -> dict[str, Any]:
    """The entry of a file, after its schema and its name were checked."""
    entry: dict[str, Any] = load(path)
    try:
        model.model_validate(entry)
    except ValidationError as error:
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: {error}") from None
    if entry["id"] != path.stem:
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: id {entry['id']!r} differs from the file name")
    entry["last_verified"] = str(entry["last_verified"])
    return entry


def compile_rule(path: Path) -> dict[str, Any]:
    rule = checked(Rule, path)
    for name in ("applies_when", "condition"):
        if name in rule:
            rule[name] = parse(rule[name])
    return rule


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
    rule |= {"frameworks": bug["frameworks"]} if bug.get("frameworks") else {}
    return rule


def ranges_of(events: list[dict[str, str]]) -> list[str]:
    """Range texts from OSV events in order: introduced ... fixed or last_affected, and again."""
    ranges: list[str] = []
    for event in events:
        if "introduced" in event:
            ranges.append("" if event["introduced"] == "0" else f">={event['introduced']}")
        else:
            bound = f"<{event['fixed']}" if "fixed" in event else f"<={event['last_affected']}"
            ranges[-1] = ",".join(filter(None, (ranges[-1], bound)))
    return ranges


def build() -> dict[str, Any]:
    frameworks = sorted((KNOWLEDGE / "frameworks").glob("*/adapter.yaml"))
    bugs = sorted((KNOWLEDGE / "bugs").glob("*/*.yaml"))
    seed = KNOWLEDGE / "seed_rules.yaml"
    return {
        "fields": load(KNOWLEDGE / "fields.yaml"),
        "adapters": {path.parent.name: load(path) for path in frameworks},
        "bug_rules": [rule for path in bugs if (rule := compile_bug(path)) is not None],
        "rules": [compile_rule(path) for path in sorted((KNOWLEDGE / "rules").glob("*.yaml"))],
        "lints": load(KNOWLEDGE / "lints.yaml"),
        "model_families": load(KNOWLEDGE / "model_families.yaml"),
        "seed_rules": load(seed) if seed.exists() else [],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 when stale")
    arguments = parser.parse_args()
    target = KNOWLEDGE / "index.json"
    text = json.dumps(build(), ensure_ascii=False, indent=None, separators=(",", ":"), sort_keys=True) + "\n"
    if arguments.check:
        fresh = target.exists() and target.read_text(encoding="utf-8") == text
        print("index is fresh" if fresh else "index is stale: run python scripts/build_index.py")
        return 0 if fresh else 1
    target.write_text(text, encoding="utf-8")
    print(f"{target.relative_to(KNOWLEDGE.parent)}: {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
