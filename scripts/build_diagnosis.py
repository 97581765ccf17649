"""Compile what `diagnose` loads (knowledge/diagnosis.json) from knowledge/lookup.json and knowledge/diagnosis.yaml.

python scripts/build_diagnosis.py            write it (after scripts/build_index.py)
python scripts/build_diagnosis.py --check    exit 1 when the committed one is stale
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from knowledge_files import KNOWLEDGE, load
from sign_weights import examples, fit, priors

from grpo_guard.diagnosis.index import compile_postings
from grpo_guard.diagnosis.signatures import compile_signature, pieces_of
from grpo_guard.diagnosis.words import Terms


def build_diagnosis(lookup: Mapping[str, Any]) -> dict[str, Any]:
    """Entries, postings, signatures, and the weights as they stand. Raises SystemExit naming what is wrong."""
    weights = load(KNOWLEDGE / "diagnosis.yaml")
    patterns = [row["id"] for row in lookup["patterns"]]
    check(weights, patterns)
    vocabulary = lookup["tables"]["vocabulary"]
    empty = weights["empty_words"].split()
    terms = Terms(vocabulary["concepts"], vocabulary["stopwords"], empty)
    titles = {row["id"]: row["title"] for row in lookup["symptoms"]}
    texts = {f"bug:{name}": text_of_bug(bug, titles) for name, bug in lookup["bugs"].items()}
    for row in lookup["patterns"]:
        texts[f"pattern:{row['id']}"] = text_of_pattern(row, weights["phrasings"].get(row["id"], ()))
    texts |= {f"symptom:{row['id']}": text_of_symptom(row) for row in lookup["symptoms"]}
    names, postings = compile_postings({name: terms.of(text) for name, text in texts.items()})
    entries = [("bug", bug) for bug in lookup["bugs"].values()] + [("symptom", row) for row in lookup["symptoms"]]
    signatures = [
        [f"{kind}:{row['id']}", pattern, *compile_signature(pattern)]
        for kind, row in entries
        for pattern in row.get("signatures", ())
    ]
    rows = examples(lookup["bugs"], {row["id"]: row for row in lookup["patterns"]}, titles, weights["signs"])
    strength = weights["knobs"]["prior_strength"]
    kept = {name: weights[name] for name in ("knobs", "kinds", "topics", "cues", "expected")}
    for kind in ("signs", "config_signs"):
        kept[kind] = {name: [[way, *pieces_of(way)] for way in ways] for name, ways in weights[kind].items()}
    return {
        "empty_words": empty,
        "vague": sorted(weights["vague"].split()),
        "entries": names,
        "postings": postings,
        "signatures": signatures,
        "sign_weights": fit(rows, weights["signs"]),
        "priors": priors(weights["case_counts"], rows, patterns, strength),
        **kept,
    }


def text_of_bug(bug: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """What is told of a bug; its title and what sets it off count twice."""
    twice = [bug["title"], bug.get("trigger_text", "")]
    once = [bug["mechanism"], bug.get("confirm", ""), bug.get("workaround", "")]
    lists = [*bug.get("metrics", ()), *bug.get("examples", ()), *bug.get("frameworks", ())]
    return "\n".join([*twice, *twice, *once, *lists, *(titles.get(name, "") for name in bug["symptoms"])])


def text_of_pattern(row: Mapping[str, Any], phrasings: Any) -> str:
    checks = [f"{step['do']} {step.get('why', '')}" for step in row["first_checks"]]
    told = [row["title"], row["says"], row["invariant"], *row["shows"], *checks, row["first_advice"]]
    return "\n".join([*told, *phrasings])


def text_of_symptom(row: Mapping[str, Any]) -> str:
    said = row["phrasings"]
    whys = [lead["why"] for lead in row["leads"]]
    return "\n".join([row["title"], *said["en"], *said["zh"], *row.get("metrics", ()), *whys])


def check(weights: Mapping[str, Any], patterns: list[str]) -> None:
    """Names that cues use exist, and expressions compile."""
    for name, ways in [*weights["signs"].items(), *weights["config_signs"].items()]:
        for way in ways:
            try:
                re.compile(way)
            except re.error as error:
                raise SystemExit(f"diagnosis.yaml: sign {name}: {way}: {error}") from None
    named = {pattern for row in weights["cues"] for pattern in row["for"]} | set(weights["phrasings"])
    named |= {pattern for topic in weights["topics"].values() for pattern in topic}
    named |= set(weights["case_counts"])
    if unknown := named - set(patterns):
        raise SystemExit(f"diagnosis.yaml: no such pattern: {', '.join(sorted(unknown))}")
    rules = [*weights["cues"], *weights["expected"]]
    signs = {sign for row in rules for sign in (*row["when"], *row.get("unless", ()))}
    if unknown := (signs | set(weights["config_signs"])) - set(weights["signs"]):
        raise SystemExit(f"diagnosis.yaml: no such sign: {', '.join(sorted(unknown))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 when stale")
    arguments = parser.parse_args()
    target = KNOWLEDGE / "diagnosis.json"
    data = build_diagnosis(json.loads((KNOWLEDGE / "lookup.json").read_text(encoding="utf-8")))
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n"
    if not arguments.check:
        target.write_text(text, encoding="utf-8")
        print(f"{target.relative_to(KNOWLEDGE.parent)}: {len(text):,} bytes")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        print("diagnosis.json is stale: run python scripts/build_diagnosis.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
