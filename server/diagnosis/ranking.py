"""Which patterns of failure fit the evidence, and which known bugs: a sum whose every part can be shown.

A pattern's score is what its known bugs share with the user's text (the best few, each counting half of the one
before), plus what its own description shares, divided by the best pattern's such sum. To that are added amounts for
cues and single signs in the words, for error lines, for findings in the config and for signals of the logs, one when a
single bug fits far better than those of other patterns, and a small one for how common the pattern is. Weights:
knowledge/diagnosis.yaml.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..store import lookup
from ..store.versions import in_range
from . import index
from .cues import Cue, cues_in, signs_of
from .evidence import Evidence
from .leanings import Leaning, leanings
from .words import terms


@dataclass(slots=True)
class Candidate:
    """A pattern with its score, the parts that made it, and its bugs, best first."""

    pattern: str
    score: float
    parts: dict[str, float]
    cues: list[Cue] = field(default_factory=list)
    leaning: Leaning | None = None
    bugs: list[tuple[str, float]] = field(default_factory=list)


@dataclass(slots=True)
class Ranked:
    candidates: list[Candidate]
    asked: dict[str, float]  # terms of the query with their weights
    symptoms: list[tuple[str, float]]
    strength: float  # of the best text match, by which the others were divided


def rank(evidence: Evidence, without: Collection[str] = ()) -> Ranked:
    """All patterns, best first. `without`: ids of bugs that count as unknown, for cross-validation."""
    knobs = index.data()["knobs"]
    asked = _asked(evidence, knobs)
    fits = index.scores(asked)
    bugs = _bug_scores(evidence, fits, knobs, without)
    symptoms = _symptom_scores(evidence, fits, knobs)
    by_words, own = _by_words(fits, bugs, symptoms, knobs)
    strength = max(by_words.values(), default=0.0)
    seen = signs_of(evidence)
    cues, leaning = cues_in(seen), leanings(seen)
    priors = index.data()["priors"]
    openness = _openness(by_words)
    clearest, margin = _clearest(own)
    candidates = []
    for pattern in lookup.patterns():
        parts = {"words": by_words[pattern] / max(strength, knobs["least_strength"])}
        mine = [cue for cue in cues if cue.pattern == pattern]
        parts["cues"] = knobs["cue"] * sum(cue.weight for cue in mine)
        parts["config"] = _config_part(evidence, pattern, knobs)
        parts["signals"] = knobs["signal"] * evidence.leanings.get(pattern, 0.0)
        lean = leaning.get(pattern)
        parts["signs"] = knobs["sign"] * openness * lean.score if lean else 0.0
        parts["one bug"] = knobs["clear_bug"] * margin if pattern == clearest else 0.0
        parts["prior"] = knobs["prior"] * priors[pattern]
        candidates.append(Candidate(pattern, sum(parts.values()), parts, mine, lean, own.get(pattern, [])))
    candidates.sort(key=lambda candidate: -candidate.score)
    return Ranked(candidates, asked, symptoms, strength)


def _clearest(own: Mapping[str, list[tuple[str, float]]]) -> tuple[str, float]:
    """The pattern of the bug that fits best, and by which share the best bug of any other pattern fits less."""
    best = sorted(((rows[0][1], pattern) for pattern, rows in own.items() if rows), key=lambda row: (-row[0], row[1]))
    if len(best) < 2 or best[0][0] <= 0:
        return "", 0.0
    return best[0][1], 1 - best[1][0] / best[0][0]


def _openness(by_words: Mapping[str, float]) -> float:
    """How far the words leave it open (0 to 1): when one pattern's bugs fit clearly best, single signs count less."""
    first, second = sorted(by_words.values(), reverse=True)[:2]
    return (second / first) ** 2 if first > 0 else 1.0


def _asked(evidence: Evidence, knobs: Mapping[str, Any]) -> dict[str, float]:
    """Terms of the words, the log and the config, each with the weight of the best place it stands in."""
    cut = terms()
    asked: dict[str, float] = {}
    for text, weight in (
        (evidence.words, 1.0),
        ("\n".join(evidence.lines), knobs["log_words"]),
        (evidence.config, knobs["config_words"]),
        (" ".join([*evidence.facts, *evidence.versions]), knobs["fact_words"]),
    ):
        for term in cut.of(text):
            asked[term] = max(asked.get(term, 0.0), weight)
    return asked


def _bug_scores(
    evidence: Evidence, fits: Mapping[str, float], knobs: Mapping[str, Any], without: Collection[str]
) -> dict[str, float]:
    found = {}
    signed = {hit.entry.partition(":")[2] for hit in evidence.hits if hit.entry.startswith("bug:")}
    triggered = {finding.rule for finding in evidence.findings} | {
        bug for finding in evidence.findings for bug in finding.bugs
    }
    for name, bug in lookup.bugs().items():
        if name in without or bug["verdict"] not in ("confirmed", "reported", "changed"):
            continue
        score = fits.get(f"bug:{name}", 0.0)
        if evidence.framework and score:
            score += knobs["framework"] * (evidence.framework in (*bug.get("frameworks", ()), bug["package"]))
        score += knobs["signature"] * (name in signed) + knobs["trigger"] * (name in triggered)
        if fixed_before(bug, evidence.versions):
            score *= knobs["fixed_before"]
        found[name] = score
    return found


def fixed_before(bug: Mapping[str, Any], versions: Mapping[str, str]) -> str:
    """A given version outside of the affected ranges, as "verl 0.9.0"; "" when it is affected or unknown."""
    for package, ranges in bug.get("ranges", {}).items():
        version = versions.get(package)
        if version and ranges and not any(in_range(version, clauses) for clauses in ranges):
            return f"{package} {version}"
    return ""


def _symptom_scores(evidence: Evidence, fits: Mapping[str, float], knobs: Mapping[str, Any]) -> list[tuple[str, float]]:
    signed = {hit.entry.partition(":")[2] for hit in evidence.hits if hit.entry.startswith("symptom:")}
    rows = [
        (name, fits.get(f"symptom:{name}", 0.0) + knobs["signature"] * (name in signed)) for name in lookup.symptoms()
    ]
    return sorted((row for row in rows if row[1] > 0), key=lambda row: -row[1])


def _by_words(
    fits: Mapping[str, float],
    bugs: Mapping[str, float],
    symptoms: list[tuple[str, float]],
    knobs: Mapping[str, Any],
) -> tuple[dict[str, float], dict[str, list[tuple[str, float]]]]:
    """Per pattern the sum over its description, its best bugs and the leads of the best symptoms; and its bugs."""
    known = lookup.bugs()
    own: dict[str, list[tuple[str, float]]] = {}
    for name, score in sorted(bugs.items(), key=lambda row: (-row[1], row[0])):
        own.setdefault(known[name]["pattern"], []).append((name, score))
    leads = _leads(symptoms[: int(knobs["symptoms_counted"])], knobs["lead_decay"])
    found = {}
    for pattern in lookup.patterns():
        best = [score for _, score in own.get(pattern, ())[: int(knobs["bugs_counted"])]]
        votes = sum(score * knobs["bug_decay"] ** place for place, score in enumerate(best))
        said = knobs["description"] * fits.get(f"pattern:{pattern}", 0.0)
        found[pattern] = votes + said + knobs["lead"] * leads.get(pattern, 0.0)
    return found, own


def _leads(symptoms: list[tuple[str, float]], decay: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, score in symptoms:
        for place, lead in enumerate(lookup.symptoms()[name]["leads"]):
            bug = lookup.bugs().get(lead.get("bug", ""), {})
            pattern = lead.get("pattern") or bug.get("pattern", "")
            if pattern:
                found[pattern] = max(found.get(pattern, 0.0), score * decay**place)
    return found


def _config_part(evidence: Evidence, pattern: str, knobs: Mapping[str, Any]) -> float:
    levels = [finding.severity for finding in evidence.findings if finding.pattern == pattern]
    return float(max((knobs["finding"].get(level, 0.0) for level in levels), default=0.0))
