"""Compile metric names, events and signals (knowledge/metrics.yaml, signals.yaml) into knowledge/signals.json.

python scripts/build_signals.py            write it
python scripts/build_signals.py --check    exit 1 when the committed one is stale
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from knowledge_files import KNOWLEDGE, load

FILE = KNOWLEDGE / "signals.json"
_SEVERITIES = ("error", "warning", "info")


def build_signals() -> dict[str, Any]:
    """The compiled data. Raises SystemExit naming what is wrong."""
    names, data = load(KNOWLEDGE / "metrics.yaml"), load(KNOWLEDGE / "signals.yaml")
    patterns = {row["id"] for row in load(KNOWLEDGE / "patterns.yaml")}
    symptoms = {path.stem for path in (KNOWLEDGE / "symptoms").glob("*.yaml")}
    for name, row in data["signals"].items():
        _check(row["severity"] in _SEVERITIES, f"signal {name}: severity {row['severity']}")
        _check(row["source"] in data["sources"], f"signal {name}: no source {row['source']}")
        _check(set(row["patterns"]) <= patterns, f"signal {name}: unknown pattern in {list(row['patterns'])}")
        _check(set(row["symptoms"]) <= symptoms, f"signal {name}: unknown symptom in {row['symptoms']}")
    for kind, row in data["events"].items():
        for mark in row["marks"]:
            _check(any(gate in mark for gate in data["gates"]), f"event {kind}: no gate for the mark {mark!r}")
        for shape in row["shapes"]:
            re.compile(shape)
    return {
        "metrics": metric_names(names),
        "gates": data["gates"],
        "events": data["events"],
        "phases": data["phases"],
        "sources": data["sources"],
        "signals": data["signals"],
    }


def metric_names(data: Mapping[str, Any]) -> dict[str, Any]:
    """Tables for the look-up of a name: exact names, last parts, patterns, and who uses a name."""
    exact: dict[str, tuple[str, int]] = {}
    anywhere: dict[str, str] = {}
    patterns: list[tuple[str, str, bool]] = []
    users: dict[str, list[str]] = {}
    for target, row in data["metrics"].items():
        for framework, names in row.get("names", {}).items():
            for place, name in enumerate(names):
                key = str(name).lower()
                _check(exact.get(key, (target, 0))[0] == target, f"{key} is both {exact.get(key)} and {target}")
                exact.setdefault(key, (target, place))
                if framework != "other":
                    users.setdefault(key, []).append(framework.replace("_", "-"))
        anywhere |= dict.fromkeys(row.get("anywhere", ()), target)
        patterns += [(text, target, bool(row.get("many"))) for text in row.get("patterns", ())]
    titles = {target: row["title"] for target, row in data["metrics"].items()}
    unique = {name: found for name, found in users.items() if len(found) == 1}
    return {
        "names": exact,
        "anywhere": anywhere,
        "patterns": patterns,
        "users": unique,
        "titles": titles,
        "steps": data["steps"],
        "not_metrics": data["not_metrics"],
    }


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise SystemExit(message)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    text = json.dumps(build_signals(), ensure_ascii=False, separators=(",", ":"), sort_keys=False) + "\n"
    if parser.parse_args().check:
        return 0 if FILE.exists() and FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
