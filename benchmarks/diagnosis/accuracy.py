"""How often diagnose names the right pattern and bug on labelled cases, also for bugs that it does not know.

python benchmarks/diagnosis/accuracy.py [CASES.yaml | --unseen] [--misses]

CASES.yaml: a list of {id, framework, user_text, log_excerpt, config_excerpt, versions, truth: {pattern, also_accepted,
bug_ref}}; without it the reports that were written for this benchmark (reports.yaml, or unseen.yaml). With a bug held
out, the weights of signs are fitted without it too. What is told apart:

  BM25          the cases themselves as documents, one left out at a time: the reference point
  known         the knowledge base as it is
  held out      the bug of each case is taken out of the knowledge base first: a bug that nobody entered
  by framework  only cues that were right in a case of another framework count, with the weight that is best there:
                no rule that was tuned to a case helps it, and the prior is that of the other folds; known and held out
                as above
  by pattern    the same with folds of one pattern each: no cue for the case's pattern is left at all
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import sign_weights

from grpo_guard.diagnosis import diagnose as diagnosis
from grpo_guard.diagnosis import index, ranking
from grpo_guard.diagnosis.evidence import gather
from grpo_guard.diagnosis.words import terms
from grpo_guard.store import lookup

Case = dict[str, Any]
_REPORTS = Path(__file__).with_name("reports.yaml")
_UNSEEN = Path(__file__).with_name("unseen.yaml")
KNOWLEDGE = Path(__file__).parents[2] / "knowledge"
_CUE_WEIGHTS = (0.0, 0.05, 0.1, 0.15)
_REPOSITORIES = {"rl": "nemo-rl", "megatron-lm": "megatron"}


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
        return bool(self.patterns) and self.patterns[0] in accepted(self.case)

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
    return f"{_REPOSITORIES.get(repo, repo)}-{digits}"


def entries_of(case: Case) -> frozenset[str]:
    """Ids of the entries in the knowledge base that are about the case's bug."""
    wanted = references(case)

    def is_about(name: str, bug: Case) -> bool:
        return bool({number(name), *map(number, diagnosis.other_numbers(bug, most=99))} & wanted)

    return frozenset(name for name, bug in lookup.bugs().items() if is_about(name, bug))


def given(case: Case) -> dict[str, Any]:
    """What the tool is shown of a case."""
    return {
        "logs": ["\n".join(map(str, case["log_excerpt"]))] if case["log_excerpt"] else [],
        "config": "\n".join(map(str, case["config_excerpt"])),
        "framework": case["framework"],
        "versions": {name: str(value) for name, value in (case.get("versions") or {}).items()},
    }


@lru_cache(maxsize=1)
def sign_rows() -> dict[str, tuple[str, frozenset[str]]]:
    titles = {name: row["title"] for name, row in lookup.symptoms().items()}
    ways = yaml.safe_load((KNOWLEDGE / "diagnosis.yaml").read_text(encoding="utf-8"))["signs"]
    rows: dict[str, tuple[str, frozenset[str]]] = sign_weights.examples(lookup.bugs(), lookup.patterns(), titles, ways)
    return rows


@lru_cache(maxsize=512)
def weights_without(bugs: frozenset[str]) -> dict[str, Any]:
    weights: dict[str, Any] = sign_weights.fit(sign_rows(), index.data()["signs"], bugs)
    return weights


@contextmanager
def known_from(without: frozenset[str]) -> Iterator[None]:
    """For a while: sign weights that were fitted without some bugs."""
    data = index.data()
    before = data["sign_weights"]
    if without:
        data["sign_weights"] = weights_without(without)
    yield
    data["sign_weights"] = before


def answer(case: Case, without: frozenset[str] = frozenset()) -> Result:
    with known_from(without):
        found = diagnosis.diagnose(case["user_text"], **given(case), without=without)
    return Result(
        case,
        [row.pattern for row in found.hypotheses],
        [row.confidence for row in found.hypotheses],
        {number(name) for row in found.hypotheses[:3] for name in row.bugs},
    )


def cross_validated(cases: Sequence[Case], fold_of: Callable[[Case], str], hold_out: bool) -> list[Result]:
    """Per fold: cues that were right elsewhere, with the weight that is best elsewhere, and the prior of the others."""
    parts = [scored(case, entries_of(case) if hold_out else frozenset()) for case in cases]
    fired = [
        {cue.why for row in rows if row.pattern == case["truth"]["pattern"] for cue in row.cues}
        for case, (rows, _) in zip(cases, parts, strict=True)
    ]
    results: list[Result | None] = [None] * len(cases)
    for fold in sorted(set(map(fold_of, cases))):
        inside = [place for place, case in enumerate(cases) if fold_of(case) == fold]
        others = [place for place in range(len(cases)) if place not in inside]
        proven = {why for place in others for why in fired[place]}
        prior = prior_of([cases[place] for place in others])

        def right(weight: float, others: Sequence[int] = others, *known: Any) -> int:
            return sum(ordered(parts[place][0], weight, *known)[0] in accepted(cases[place]) for place in others)

        best = max(_CUE_WEIGHTS, key=lambda weight: (right(weight, others, proven, prior), -weight))
        for place in inside:
            rows, bugs = parts[place]
            order = ordered(rows, best, proven, prior)
            shown = {number(name) for pattern in order[:3] for name in bugs[pattern]}
            results[place] = Result(cases[place], order, [], shown)
    return [result for result in results if result is not None]


def scored(case: Case, without: frozenset[str]) -> tuple[list[ranking.Candidate], dict[str, list[str]]]:
    """All patterns with their parts, and the bugs that each would name if it were among the first."""
    with known_from(without):
        evidence = gather(case["user_text"], **given(case))
        ranked = ranking.rank(evidence, without)
    bugs = {
        row.pattern: [
            name
            for bug in diagnosis.bugs_shown(row, evidence, ranked)
            for name in (bug, *diagnosis.other_numbers(lookup.bugs()[bug]))
        ]
        for row in ranked.candidates
    }
    return ranked.candidates, bugs


def prior_of(cases: Sequence[Case]) -> dict[str, float]:
    counts = Counter(case["truth"]["pattern"] for case in cases)
    strength = index.data()["knobs"]["prior_strength"]
    prior: dict[str, float] = sign_weights.priors(counts, sign_rows(), lookup.patterns(), strength)
    return prior


def ordered(
    rows: Sequence[ranking.Candidate], weight: float, proven: Set[str], prior: Mapping[str, float]
) -> list[str]:
    """Patterns in order, with proven cues only and another prior."""
    share = float(index.data()["knobs"]["prior"])

    def score(row: ranking.Candidate) -> float:
        rest = sum(value for name, value in row.parts.items() if name not in ("cues", "prior"))
        cues = sum(cue.weight for cue in row.cues if cue.why in proven)
        return float(rest + share * prior[row.pattern] + weight * cues)

    return [row.pattern for row in sorted(rows, key=lambda row: (-score(row), row.pattern))][:5]


def bm25(cases: Sequence[Case]) -> list[Result]:
    """The pattern of the other cases that share most words."""
    cut = terms()
    texts = {case["id"]: cut.of(f"{case['user_text']} {' '.join(map(str, case['log_excerpt']))}") for case in cases}
    names, postings = index.compile_postings(texts)
    results = []
    for place, case in enumerate(cases):
        scores: Counter[int] = Counter()
        for term in sorted(set(texts[case["id"]])):
            row = postings[term]
            for at in range(0, len(row), 2):
                if row[at] != place:
                    scores[int(row[at])] += row[at + 1]
        order = [cases[other]["truth"]["pattern"] for other, _ in scores.most_common()]
        results.append(Result(case, list(dict.fromkeys(order))[:5], [], set()))
    assert len(names) == len(cases), "ids differ"
    return results


def figures(results: Sequence[Result]) -> dict[str, float]:
    with_bug = [result for result in results if references(result.case)]

    def share(test: Callable[[Result], bool], rows: Sequence[Result] = results) -> float:
        return round(sum(map(test, rows)) / max(1, len(rows)), 3)

    return {
        "cases": len(results),
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


def own_reports(file: Path = _REPORTS) -> list[Case]:
    """A file of reports as cases; the label is the pattern of the entry that a report was written from."""
    return [
        {
            "id": row["bug"],
            "framework": row["framework"],
            "user_text": row["says"],
            "log_excerpt": row.get("log", []),
            "config_excerpt": row.get("config", []),
            "truth": {"pattern": lookup.bugs()[row["bug"]]["pattern"], "bug_ref": row["bug"]},
        }
        for row in yaml.safe_load(file.read_text(encoding="utf-8"))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, nargs="?")
    parser.add_argument("--misses", action="store_true", help="also list the held-out cases that were missed")
    parser.add_argument("--counts", action="store_true", help="only print the cases per pattern, for diagnosis.yaml")
    parser.add_argument("--unseen", action="store_true", help="the second set of reports (unseen.yaml)")
    options = parser.parse_args()
    own = own_reports(_UNSEEN if options.unseen else _REPORTS)
    cases: list[Case] = yaml.safe_load(options.cases.read_text(encoding="utf-8")) if options.cases else own
    if options.counts:
        counts = Counter(case["truth"]["pattern"] for case in cases)
        rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        print(f"case_counts: {{{', '.join(f'{pattern}: {count}' for pattern, count in rows)}}}")
        return 0
    held_out = [answer(case, entries_of(case)) for case in cases]
    settings = {
        "BM25": bm25(cases),
        "known": [answer(case) for case in cases],
        "held out": held_out,
    }
    folds: dict[str, Callable[[Case], str]] = {
        "by framework": lambda case: str(case["framework"]),
        "by pattern": lambda case: str(case["truth"]["pattern"]),
    }
    for name, fold_of in folds.items():
        settings[f"{name}, known"] = cross_validated(cases, fold_of, hold_out=False)
        settings[f"{name}, held out"] = cross_validated(cases, fold_of, hold_out=True)
    for name, results in settings.items():
        print(f"{name:23}", json.dumps(figures(results)))
        for row in reliability(results):
            print(" " * 25, json.dumps(row))
    if options.misses:
        for result in held_out:
            if not result.strict:
                print(result.case["id"], "wants", result.case["truth"]["pattern"], "got", result.patterns[:3])
    return 0


if __name__ == "__main__":
    sys.exit(main())
