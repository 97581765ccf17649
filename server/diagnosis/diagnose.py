"""diagnose: from what an engineer has at hand to the few causes that fit, and what would tell them apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..configs.files import printable
from ..configs.values import InputError
from ..store import lookup
from . import index
from .confidence import confidences
from .cues import signs_of
from .evidence import Evidence, gather
from .model import Diagnosis, Hypothesis, Signal
from .ranking import Candidate, Ranked, fixed_before, rank
from .scope import concerns
from .words import as_written

LIMIT = 5
_BUGS, _OTHER_NUMBERS, _EVIDENCE, _REFERENCES = 3, 2, 6, 4
_QUOTED = 160
_SIGNS = 4


def diagnose(
    symptoms: str = "",
    logs: Sequence[Path | str] = (),
    config: str = "",
    framework: str = "",
    versions: Mapping[str, str] | None = None,
    focus: str = "all",
    limit: int | None = None,
    without: Collection[str] = (),
) -> Diagnosis:
    """Ranked causes for what the user sees.

    symptoms: the user's words. logs: files, or text. config: text of a config or a part of one. versions: of packages,
    or other facts. focus: one of the nine topics, "all" for every pattern. without: bugs that count as unknown.
    Raises InputError when nothing is given or a file cannot be read.
    """
    evidence = gather(symptoms, logs, config, framework, versions or {})
    if evidence.is_empty:
        raise InputError("nothing to go by: give the symptoms in words, a log, or a config")
    ranked = rank(evidence, without)
    chosen = _chosen(ranked, focus)[: limit or LIMIT]
    sure = confidences(ranked)
    answer = Diagnosis(signals=_signals(evidence, ranked), coverage=evidence.coverage, curves=evidence.curves)
    if _says_enough(evidence, ranked):
        answer.hypotheses = [
            _hypothesis(place, candidate, sure[candidate.pattern], evidence, ranked)
            for place, candidate in enumerate(chosen, start=1)
        ]
    else:
        answer.notes.append("not enough information: nothing in the input is like a known failure")
    answer.not_a_fault = _not_a_fault(answer.hypotheses, evidence)
    answer.ask_next = _ask_next(evidence, ranked, chosen, answer)
    return answer


def _says_enough(evidence: Evidence, ranked: Ranked) -> bool:
    """Whether the input says more than that something is wrong."""
    best = ranked.candidates[0]
    if evidence.hits or best.parts["config"] > 0 or best.parts["signals"] > 0:
        return True
    if not evidence.words.strip() and best.parts["cues"] <= 0:
        return False  # a log always has words; without an error among them they are those of a run that goes well
    known = index.data()["postings"]
    told = {term for term in ranked.asked if term in known}.difference(index.data()["vague"])
    concepts = sum(term.startswith("@") for term in told)  # "为零" is one term, "zero" a word and a concept
    return len(told) + concepts >= int(index.data()["knobs"]["enough"])


def _chosen(ranked: Ranked, focus: str) -> list[Candidate]:
    topics = index.data()["topics"].get(focus)
    floor = float(index.data()["knobs"]["least_score"])
    rows = [row for row in ranked.candidates if topics is None or row.pattern in topics]
    return [row for place, row in enumerate(rows) if place == 0 or row.score >= floor]


def _signals(evidence: Evidence, ranked: Ranked) -> list[Signal]:
    found = list(evidence.signals)
    floor = float(index.data()["knobs"]["symptom_shown"])
    for hit in evidence.hits:
        kind, _, name = hit.entry.partition(":")
        title = (lookup.bugs() if kind == "bug" else lookup.symptoms())[name]["title"]
        line = hit.line if hit.source == "log" else None
        found.append(Signal(f"signature:{name}", title, "error", _quote(hit.text), hit.source, line=line))
    for name, score in ranked.symptoms[:3]:
        if score >= floor and not any(row.id == f"signature:{name}" for row in found):
            told = _told(f"symptom:{name}", evidence, ranked, 4)
            if told:
                found.append(Signal(name, lookup.symptoms()[name]["title"], "info", f"words: {told}", "words"))
    for finding in evidence.findings:
        if finding.severity != "info":
            line = finding.setting.line if finding.setting else None
            found.append(Signal(finding.rule, finding.title, finding.severity, finding.message, "config", line=line))
    return found


def _hypothesis(place: int, candidate: Candidate, confidence: float, evidence: Evidence, ranked: Ranked) -> Hypothesis:
    pattern = lookup.patterns()[candidate.pattern]
    bugs = bugs_shown(candidate, evidence, ranked)
    entries = [lookup.bugs()[name] for name in bugs]
    checks = [f"{step['do']} {step.get('command', '')}".strip() for step in pattern["first_checks"][:2]]
    return Hypothesis(
        rank=place,
        pattern=candidate.pattern,
        title=pattern["title"],
        confidence=round(confidence, 2),
        bugs=[name for bug in entries for name in (bug["id"], *other_numbers(bug))],
        evidence=_for(candidate, evidence, ranked, bugs)[:_EVIDENCE],
        against=_against(candidate, evidence, pattern, bugs),
        confirm=[*(bug["confirm"] for bug in entries[:1] if bug.get("confirm")), *checks],
        fix=[pattern["first_advice"], *(_repair(bug) for bug in entries)],
        references=_references(pattern, entries),
    )


def _repair(bug: Mapping[str, Any]) -> str:
    other = f" Without it: {bug['workaround']}" if bug.get("workaround") else ""
    return f"{bug['id']}: {bug['fix']}{other}"


def bugs_shown(candidate: Candidate, evidence: Evidence, ranked: Ranked) -> list[str]:
    """The pattern's bugs that can be this run's and are nearly as like the input as the best bug of all."""
    best = max((row.bugs[0][1] for row in ranked.candidates if row.bugs), default=0.0)
    knobs = index.data()["knobs"]
    floor = max(best * float(knobs["bug_shown"]), float(knobs["bug_least"]))
    known = lookup.bugs()
    near = [name for name, score in candidate.bugs if score >= floor]
    return [name for name in near if concerns(known[name], evidence)][:_BUGS]


def other_numbers(bug: Mapping[str, Any], most: int = _OTHER_NUMBERS) -> list[str]:
    """Other threads of the same defect, as "owner/repo#N": the report and the change that repairs it."""
    found = []
    for reference in bug["references"]:
        if reference["kind"] in ("issue", "pull"):
            owner, repo, _, number = reference["url"].split("github.com/")[-1].split("/")[:4]
            if number.split("#")[0] != bug["id"].rpartition("-")[2]:
                found.append(f"{owner}/{repo}#{number.split('#')[0]}")
    return list(dict.fromkeys(found))[:most]


def _for(candidate: Candidate, evidence: Evidence, ranked: Ranked, bugs: Sequence[str]) -> list[str]:
    known = lookup.bugs()
    lines = [cue.why for cue in candidate.cues if cue.weight > 0] + evidence.told.get(candidate.pattern, [])
    for hit in evidence.hits:
        name = hit.entry.partition(":")[2]
        if name in bugs or (hit.entry.startswith("symptom:") and candidate is ranked.candidates[0]):
            place = f"log line {hit.line}" if hit.source == "log" else "words"
            lines.append(f"{place}: {_quote(hit.text)}")
    for finding in evidence.findings:
        if finding.pattern == candidate.pattern:
            lines.append(f"config, {finding.rule}: {finding.message}")
    knobs = index.data()["knobs"]
    if candidate.leaning and (signs := candidate.leaning.told(_SIGNS, float(knobs["sign_told"]))):
        lines.append(f"signs that known defects of this kind share: {', '.join(signs)}")
    told = _told(f"pattern:{candidate.pattern}", evidence, ranked, 6)
    lines += [f"words that speak for it: {told}"] if told else []
    lines += [f"like {name}: {known[name]['title']}" for name in bugs]
    return list(dict.fromkeys(lines))


def _told(entry: str, evidence: Evidence, ranked: Ranked, most: int) -> str:
    """The user's own words that an entry shares, the weightiest first."""
    text = "\n".join([evidence.words, *evidence.lines])
    return ", ".join(as_written(text, index.shared(entry, ranked.asked, 4 * most), most))


def _against(candidate: Candidate, evidence: Evidence, pattern: Mapping[str, Any], bugs: Sequence[str]) -> list[str]:
    lines = [cue.why for cue in candidate.cues if cue.weight < 0]
    for name in bugs:
        if version := fixed_before(lookup.bugs()[name], evidence.versions):
            lines.append(f"{name} does not affect {version}")
    return [*lines, pattern["not_if"]]


def _references(pattern: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> list[str]:
    urls = [row["references"][0]["url"] for row in entries] + [row["url"] for row in pattern["references"]]
    return list(dict.fromkeys(urls))[:_REFERENCES]


def _not_a_fault(hypotheses: Sequence[Hypothesis], evidence: Evidence) -> str | None:
    first = hypotheses[0] if hypotheses else None
    if first is None or first.pattern != "expected_behaviour":
        return None
    if told := evidence.told.get(first.pattern):
        return "; ".join(told)
    seen = signs_of(evidence)
    if row := next((row for row in index.data()["expected"] if seen.issuperset(row["when"])), None):
        return f"{row['says']} See {row['source']}"
    bug = lookup.bugs().get(first.bugs[0] if first.bugs else "", {})
    return str(bug.get("mechanism") or lookup.patterns()[first.pattern]["says"])


def _ask_next(evidence: Evidence, ranked: Ranked, chosen: Sequence[Candidate], answer: Diagnosis) -> list[str]:
    """What would separate the leaders, and what is missing."""
    asked: list[str] = []
    if not answer.hypotheses or _close(chosen):
        asked += [lookup.symptoms()[name]["question"] for name, _ in ranked.symptoms[:1]]
    if not evidence.lines:
        asked.append("The log: the first error with 20 lines before it, or the metrics of the steps around it.")
    if not evidence.config.strip():
        asked.append("The launch script or config.")
    packages = [
        package for bug in bugs_shown(chosen[0], evidence, ranked)[:2] for package in lookup.bugs()[bug]["ranges"]
    ]
    if missing := [name for name in dict.fromkeys(packages) if name not in evidence.versions]:
        asked.append(f"Version of {', '.join(missing[:3])}: it decides whether a known bug can be it.")
    return asked[:4]


def _close(chosen: Sequence[Candidate]) -> bool:
    margin = float(index.data()["knobs"]["close"])
    return len(chosen) > 1 and chosen[0].score - chosen[1].score < margin


def _quote(text: str) -> str:
    """A line of the user's log as data: printable, cut, between quotes."""
    return f'"{printable(text, _QUOTED)}"'
