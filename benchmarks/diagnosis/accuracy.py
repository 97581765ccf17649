"""How often diagnose names the right pattern and bug on labelled cases, also for bugs that it does not know.

python benchmarks/diagnosis/accuracy.py CASES.yaml [--misses] [--json]

CASES.yaml: a list of {id, framework, user_text, log_excerpt, config_excerpt, versions, truth: {pattern, also_accepted,
bug_ref}}. Three settings are told apart:
  known     the knowledge base as it is;
  held out  the bug of each case is taken out of the knowledge base first: what a bug looks like that nobody entered;
  folds     the weights (knobs) are chosen on all cases but those of one pattern or framework, and used on these.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from grpo_guard.diagnosis import diagnose as diagnosis
from grpo_guard.store import lookup

Case = dict[str, Any]


@dataclass(slots=True)
class Result:
    """What was answered for one case."""

    case: Case
    patterns: list[str]
    confidences: list[float]
    bugs: set[str]

    @property
    def strict(self) -> bool:
        return self.patterns[:1] == [self.case["truth"]["pattern"]]

    @property
    def lenient(self) -> bool:
        return self.patterns[:1] != [] and self.patterns[0] in accepted(self.case)

    @property
    def among_three(self) -> bool:
        return self.case["truth"]["pattern"] in self.patterns[:3]

    @property
    def bug(self) -> bool:
        return bool(references(self.case) & self.bugs)


def accepted(case: Case) -> set[str]:
    return {case["truth"]["pattern"], *case["truth"].get("also_accepted", [])}


def references(case: Case) -> set[str]:
    named = case["truth"].get("bug_ref") or []
    return {number(name) for name in (named if isinstance(named, list) else [named])}


def number(name: str) -> str:
    """One form for "owner/repo#7" and "package-7"."""
    repo, _, digits = name.rpartition("#") if "#" in name else name.rpartition("-")
    repo = repo.rsplit("/", 1)[-1].lower()
    return f"{ {'rl': 'nemo-rl', 'megatron-lm': 'megatron', 'deepspeed': 'deepspeed'}.get(repo, repo) }-{digits}"


def entries_of(case: Case) -> set[str]:
    """Ids of the entries in the knowledge base that are about the case's bug."""
    wanted = references(case)
    found = set()
    for name, bug in lookup.bugs().items():
        numbers = {number(name), *map(number, diagnosis.other_numbers(bug, most=99))}
        if numbers & wanted:
            found.add(name)
    return found


def answer(case: Case, without: Iterable[str] = ()) -> Result:
    found = diagnosis.diagnose(
        case["user_text"],
        ["\n".join(map(str, case["log_excerpt"]))] if case["log_excerpt"] else [],
        "\n".join(map(str, case["config_excerpt"])),
        case["framework"],
        {name: str(value) for name, value in (case.get("versions") or {}).items()},
        without=frozenset(without),
    )
    return Result(
        case,
        [row.pattern for row in found.hypotheses],
        [row.confidence for row in found.hypotheses],
        {number(name) for row in found.hypotheses[:3] for name in row.bugs},
    )


def figures(results: Sequence[Result]) -> dict[str, float]:
    size = len(results)
    with_bug = [result for result in results if references(result.case)]

    def share(test: Callable[[Result], bool], rows: Sequence[Result] = results) -> float:
        return round(sum(map(test, rows)) / max(1, len(rows)), 3)

    return {
        "cases": size,
        "pattern@1": share(lambda row: row.strict),
        "lenient@1": share(lambda row: row.lenient),
        "pattern@3": share(lambda row: row.among_three),
        "bug@3": share(lambda row: row.bug, with_bug),
        "no answer": share(lambda row: not row.patterns),
    }


def reliability(results: Sequence[Result]) -> list[dict[str, float]]:
    """Of the first hypotheses by confidence: how many, mean confidence, how many were right (lenient)."""
    rows = []
    for low, high in ((0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 1.01)):
        inside = [row for row in results if row.confidences and low <= row.confidences[0] < high]
        if inside:
            mean = sum(row.confidences[0] for row in inside) / len(inside)
            right = sum(row.lenient for row in inside) / len(inside)
            rows.append({"from": low, "cases": len(inside), "confidence": round(mean, 2), "right": round(right, 2)})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    cases: list[Case] = yaml.safe_load(options.cases.read_text(encoding="utf-8"))
    known = [answer(case) for case in cases]
    held_out = [answer(case, entries_of(case)) for case in cases]
    for name, results in (("known", known), ("held out", held_out)):
        print(name.ljust(9), json.dumps(figures(results)))
        for row in reliability(results):
            print("          ", json.dumps(row))
        if options.misses:
            for result in results:
                if not result.strict:
                    print("   ", result.case["id"], result.case["truth"]["pattern"], result.patterns[:3])
    return 0


if __name__ == "__main__":
    sys.exit(main())
