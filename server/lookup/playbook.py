"""playbook: what to do, step by step: for a pattern, symptom, framework or bug, or to choose between FSDP1 and 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..configs.values import InputError
from ..store import lookup as store
from . import entries, names
from .answers import PatternRow, PlaybookAnswer, Step, to_data
from .short import BRIEF_CHARS, MAP_CHARS, allowance, fit, short, without
from .symptoms import rank

_SURE = 0.45  # from this score on, free words are taken for a symptom
_CHARS = {"do": 150, "why": 120, "command": 130}
_FSDP = ("fsdp", "fsdp1", "fsdp2", "fsdp1 vs fsdp2", "fsdp1-vs-fsdp2")
_ORDER_OF_WORK = (
    (
        "Validate the script and configs before launch.",
        "What a config shows costs no GPU time to find.",
        "grpo-guard validate SCRIPT",
    ),
    (
        "Read the first step's metrics: reward spread, entropy, log-prob difference, gradient norm.",
        "What is wrong at step 1 is set-up; what grows is dynamics or a leak.",
    ),
    ("Look up what you see, then the playbook of the first cause.", "", "grpo-guard symptoms WORDS"),
)


def playbook(topic: str = "", detail: str = "full") -> dict[str, Any]:
    """The steps for a topic; without one, all patterns in short. Raises InputError for a topic that nothing is like."""
    if not topic.strip():
        return _shaped(_overview(), detail, MAP_CHARS)
    answer = _of(topic.strip())
    return _shaped(answer, detail, MAP_CHARS if answer.kind == "guide" else BRIEF_CHARS)


def _of(topic: str) -> PlaybookAnswer:
    if topic.lower() in _FSDP:
        return _fsdp()
    if pattern := names.pattern(topic):
        return _pattern(pattern)
    if topic.lower() in store.symptoms():
        return _symptom(topic.lower())
    if framework := names.framework(topic):
        return _framework(framework)
    if bug := names.as_bug(topic):
        return _bug(bug)
    return _by_words(topic)


def _by_words(topic: str) -> PlaybookAnswer:
    """Free words: a misspelt name, or what the user sees."""
    pattern = names.near(topic.replace(" ", "_"), names.known_patterns(), 85)
    if pattern:
        return _pattern(pattern)
    matches = rank(topic, 1)
    if matches and matches[0].score >= _SURE:
        return _symptom(matches[0].id)
    known = [*names.known_patterns(), *store.symptoms(), *names.frameworks(), "fsdp"]
    hint = names.nearest(topic, known, 60)
    raise InputError(
        f"no playbook for {topic!r}{hint}: name a pattern, symptom, framework, bug or fsdp; none lists all"
    )


def _overview() -> PlaybookAnswer:
    """The order of work, then one check for each pattern."""
    counts: dict[str, int] = {}
    for bug in store.bugs().values():
        counts[bug["pattern"]] = counts.get(bug["pattern"], 0) + 1
    titles = names.known_patterns()
    order = entries.ordered(titles, entries.SEED_PATTERNS)
    steps = [Step(*step) for step in _ORDER_OF_WORK]
    for name in order:
        checks = store.patterns().get(name, {}).get("first_checks", [])
        steps += [Step(check["do"], f"{name}: {titles[name]}", check.get("command", "")) for check in checks[:1]]
    return PlaybookAnswer(
        topic="",
        kind="overview",
        title="From a failed run to its cause",
        steps=steps,
        patterns=[_pattern_row(name, counts.get(name, 0)) for name in order],
    )


def _pattern_row(name: str, count: int | None = None) -> PatternRow:
    entry = store.patterns().get(name, {})
    return PatternRow(
        name, names.known_patterns().get(name, name), entry.get("seed") or "", entry.get("says", ""), bugs=count
    )


def _pattern(name: str) -> PlaybookAnswer:
    entry = store.patterns().get(name, {})
    bugs = entries.of_pattern(name)
    steps = [Step(**check) for check in entry.get("first_checks", [])]
    if not steps:  # a pattern that only bugs name so far: their own observations
        steps = [Step(bug["confirm"], f"{bug['id']}: {bug['title']}") for bug in bugs if bug.get("confirm")][:5]
    steps += [Step(advice, "Once a check confirms it.") for advice in _lines(entry.get("first_advice"))]
    return PlaybookAnswer(
        topic=name,
        kind="pattern",
        title=names.known_patterns()[name],
        says=" ".join(filter(None, (entry.get("says", ""), entry.get("invariant", "")))),
        steps=steps,
        patterns=[PatternRow(name, seed=entry.get("seed") or "")],
        bugs=[entries.state(bug, titled=True) for bug in bugs],
        not_if=" ".join(_lines(entry.get("not_if"))),
        references=entries.urls(entry) or (entries.urls(bugs[0])[:2] if bugs else []),
        notes=entries.age_notes([entry] if entry else []),
    )


def _lines(text: Any) -> list[str]:
    return [text] if isinstance(text, str) and text else list(text or ())


def _symptom(name: str) -> PlaybookAnswer:
    entry = store.symptoms()[name]
    steps = [Step(entry["question"], "It separates the causes below.")] if entry.get("question") else []
    steps += [step for lead in entry["leads"] for step in _lead_steps(lead)]
    steps += [Step(entry["fix"], "First aid, until the cause is known.")] if entry.get("fix") else []
    causes = [lead["pattern"] for lead in entry["leads"] if lead.get("pattern")]
    named = [lead["bug"] for lead in entry["leads"] if lead.get("bug") in store.bugs()]
    like = [bug["id"] for bug in entries.by_weight(store.bugs().values()) if name in bug.get("symptoms", ())]
    bugs = [store.bugs()[bug] for bug in dict.fromkeys([*named, *like])]
    return PlaybookAnswer(
        topic=name,
        kind="symptom",
        title=entry["title"],
        steps=steps,
        patterns=[PatternRow(cause, names.known_patterns().get(cause, cause)) for cause in causes],
        bugs=[entries.state(bug, titled=True) for bug in bugs],
        not_if=entry.get("not_a_fault_if", ""),
        references=entries.urls(entry),
        notes=entries.age_notes([entry]),
    )


def _lead_steps(lead: Mapping[str, Any]) -> list[Step]:
    """The cheapest check of one cause."""
    if lead.get("bug") in store.bugs():
        bug = store.bugs()[lead["bug"]]
        return [Step(bug.get("confirm") or bug["fix"], f"{bug['id']}: {lead['why']}", f"grpo-guard fixes {bug['id']}")]
    if lead.get("rule"):
        return [Step(f"Validate the config: rule {lead['rule']}.", lead["why"], "grpo-guard validate SCRIPT")]
    checks = store.patterns().get(lead.get("pattern", ""), {}).get("first_checks", [])
    return [Step(check["do"], f"{lead['pattern']}: {lead['why']}", check.get("command", "")) for check in checks[:1]]


def _bug(name: str) -> PlaybookAnswer:
    bug = store.bugs()[name]
    texts = (
        ("confirm", "It tells this fault from its neighbours."),
        ("fix", ""),
        ("workaround", "Without an upgrade."),
    )
    return PlaybookAnswer(
        topic=name,
        kind="bug",
        title=bug["title"],
        says=bug["mechanism"],
        steps=[Step(bug[part], why) for part, why in texts if bug.get(part)],
        patterns=[_pattern_row(bug["pattern"])],
        bugs=[entries.state(bug)],
        references=entries.urls(bug),
        notes=entries.age_notes([bug]),
    )


def _framework(name: str) -> PlaybookAnswer:
    """Validate, then what can still hit its runs: what no release has fixed first, then what an upgrade mends."""
    met = [bug for bug in store.bugs().values() if name == bug["package"] or name in bug.get("frameworks", ())]
    weighed = sorted(entries.by_weight(met), key=lambda bug: bug["package"] != name)  # its own code first
    standing = [bug for bug in weighed if entries.status(bug) in ("open", "reported")]
    mended = [bug for bug in weighed if name in bug.get("fixed_in", {})]
    counts: dict[str, int] = {}
    for bug in met:
        counts[bug["pattern"]] = counts.get(bug["pattern"], 0) + 1
    frequent = sorted(counts, key=lambda pattern: (-counts[pattern], pattern))
    notes = store.table("on_demand").get("frameworks", {}).get(name, [])
    steps = [
        Step(
            "Validate script and configs with the versions that you run.",
            "Known faults are bound to versions.",
            f"grpo-guard validate SCRIPT --version {name}=X.Y.Z",
        ),
        *(
            Step(
                bug.get("workaround") or bug["fix"],
                f"Not fixed: {bug['id']}, {bug['title']}",
                f"grpo-guard fixes {bug['id']}",
            )
            for bug in standing
        ),
        *([_upgrade(name, mended)] if mended else []),
        *(Step(f"Read the note {note}.", "", f"grpo-guard read {note}") for note in notes if note in store.notes()),
    ]
    return PlaybookAnswer(
        topic=name,
        kind="framework",
        title=f"{len(met)} known bugs that its runs can meet, {len(standing)} of them not fixed",
        steps=steps,
        patterns=[PatternRow(pattern, names.known_patterns()[pattern], bugs=counts[pattern]) for pattern in frequent],
        bugs=[entries.state(bug, titled=True) for bug in weighed],
        references=[url for bug in standing[:3] for url in entries.urls(bug)[:1]],
        notes=entries.age_notes(weighed),
    )


def _upgrade(name: str, mended: list[Mapping[str, Any]]) -> Step:
    from ..store.versions import parse

    last = max((bug["fixed_in"][name] for bug in mended), key=parse)
    return Step(
        f"Upgrade to {name} {last} or later.",
        f"It has the fixes of all {len(mended)} bugs of {name} that a release has fixed.",
        "grpo-guard matrix --view versions",
    )


def _fsdp() -> PlaybookAnswer:
    guide = store.table("fsdp")
    decisions = guide.get("decisions", [])
    known = [name for decision in decisions for name in decision.get("bugs", ()) if name in store.bugs()]
    return PlaybookAnswer(
        topic="fsdp",
        kind="guide",
        title="FSDP1 or FSDP2: by torch version, LoRA, offload and ranks",
        steps=[Step(f"{row['when']}: {row['choose']}", row["why"], row.get("command", "")) for row in decisions],
        bugs=[entries.state(store.bugs()[name], titled=True) for name in dict.fromkeys(known)],
        references=list(dict.fromkeys(url for row in decisions for url in entries.urls(row))),
        notes=["`matrix` with view fsdp shows both side by side"],
    )


def _shaped(answer: PlaybookAnswer, detail: str, brief: int) -> dict[str, Any]:
    data = to_data(answer)
    if detail == "brief":
        _shorten(data, answer.kind)
    elif detail == "normal":
        data["patterns"] = [without(row, "says") for row in data["patterns"]]
    fit(data, ["steps", "bugs"], allowance(detail, brief), "raise `detail`")
    return {name: value for name, value in data.items() if value or name in ("topic", "steps", "patterns")}


def _shorten(data: dict[str, Any], kind: str) -> None:
    """The parts of a short answer, by what was asked for: the overview names every pattern, a guide every branch."""
    data["says"] = short(data.get("says", ""), 260)
    data["references"] = data.get("references", [])[:2]
    data["steps"] = [{name: short(text, _CHARS[name]) for name, text in step.items()} for step in data["steps"]]
    data["bugs"] = [without(bug, "fixed_in") for bug in data.get("bugs", [])]
    if kind == "overview":
        data["steps"] = [without(step, "command") for step in data["steps"]]
        data["patterns"] = [without(row, "says", "seed", "title") for row in data["patterns"]]
        return
    data["patterns"] = [without(row, "says", "seed") for row in data["patterns"]]
    if kind == "guide":
        data["bugs"] = []
        data["steps"] = [{**step, "why": short(step["why"], 90)} for step in data["steps"]]
    _keep(data, "bugs", 4)
    _keep(data, "patterns", 5)


def _keep(data: dict[str, Any], name: str, most: int) -> None:
    """At most so many rows of a side list; a note says that there are more."""
    rows = data[name]
    if len(rows) > most:
        data[name] = rows[:most]
        data["notes"] = [*data.get("notes", []), f"{len(rows) - most} more {name}: raise `detail`"]
