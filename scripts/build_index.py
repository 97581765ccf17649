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

from grpo_guard.checks.expr import parse

KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge"
CONDITIONS = ("applies_when", "condition")


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def compile_rule(path: Path) -> dict[str, Any]:
    rule: dict[str, Any] = load(path)
    if rule["id"] != path.stem:
        raise SystemExit(f"{path.name}: id {rule['id']!r} differs from the file name")
    for name in CONDITIONS:
        if name in rule:
            rule[name] = parse(str(rule[name]))
    for edit in (rule.get("fix") or {}).get("edits", {}).items():
        if not isinstance(edit[0], str):
            raise SystemExit(f"{path.name}: fix.edits must map field names to values")
    rule["last_verified"] = str(rule["last_verified"])
    return rule


def build() -> dict[str, Any]:
    frameworks = sorted((KNOWLEDGE / "frameworks").glob("*/adapter.yaml"))
    seed = KNOWLEDGE / "seed_rules.yaml"
    return {
        "fields": load(KNOWLEDGE / "fields.yaml"),
        "adapters": {path.parent.name: load(path) for path in frameworks},
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
