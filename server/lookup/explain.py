"""explain: from a rule, bug, pattern or row of the seeds to what stands behind it, each link with its sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..configs.values import InputError
from ..store import lookup as store
from . import entries, names, seed_tables
from .answers import ChainLink, ExplainAnswer, to_data
from .short import allowance, fit, short

VIEWS = ("theory", "bug", "decision", "cross")
_CHARS = {
    "bug": 420,
    "rule": 240,
    "pattern": 300,
    "claim": 220,
    "seed": 200,
    "seed_table": 240,
    "proof": 260,
    "note": 120,
}
_ELSEWHERE = 3  # bugs of one other framework that a short answer names

Links = list[ChainLink]


def explain(id: str = "", view: str = "", limit: int | None = None, detail: str = "full") -> dict[str, Any]:
    """The chain of one id; without an id, every rule of the seeds with its justification.

    view: theory (why), bug (bug, pattern, decision), decision (which rules follow), cross (the same elsewhere).
    Raises InputError for what is not known.
    """
    if view not in ("", *VIEWS):
        raise InputError(f"no view {view!r}: there are {', '.join(VIEWS)}")
    if not id.strip():
        if view not in ("", "decision"):
            raise InputError(f"view {view} needs an id: a rule, bug, pattern, or D01 to N17")
        answer = ExplainAnswer("", "decision", [_seed(row) for row in entries.seed_rows().values()])
    else:
        answer = _chain(*_subject(id), view or "bug")
    return _shaped(answer, detail, limit)


def _subject(text: str) -> tuple[str, str]:
    """(kind, id). Raises InputError."""
    plain = text.strip()
    if plain.upper() in entries.seed_rows():
        return "seed", plain.upper()
    if plain.lower() in entries.rules():
        return "rule", plain.lower()
    if found := names.pattern(plain):
        return "pattern", found
    if found := names.as_bug(plain):
        return "bug", found
    if plain.lower() in store.symptoms():
        return "symptom", plain.lower()
    if plain.lower() in _all_proofs():
        return "proof", plain.lower()
    known = [*entries.rules(), *store.bugs(), *names.known_patterns(), *store.symptoms(), *_all_proofs()]
    raise InputError(
        f"nothing is called {plain!r}{names.nearest(plain, known)}: name a rule, bug, pattern, or D01 to N17"
    )


def _chain(kind: str, name: str, view: str) -> ExplainAnswer:
    bugs, patterns, rules = _around(kind, name)
    head = [_link(kind, name)]
    notes: list[str] = []
    if view == "theory":
        links = [
            *map(_pattern, patterns),
            *(map(_bug, bugs[:2]) if kind != "bug" else ()),
            *_theory(name, bugs, patterns),
        ]
        if not any(link.kind == "proof" for link in links):
            notes.append("no derivation with a numeric check covers this yet")
    elif view == "decision":
        links = [*map(_rule, rules), *_seeds(rules, bugs), *_claims(bugs), *_proofs({name, *rules})]
        notes += [] if rules else ["no config shows it, so no rule decides it; `fixes` has what to do"]
    elif view == "cross":
        links = [*map(_pattern, patterns), *_elsewhere(kind, name, bugs, patterns), *map(_rule, rules)]
    else:
        links = [*_claims(bugs if kind == "bug" else ()), *(map(_bug, bugs) if kind != "bug" else ())]
        links += [*map(_pattern, patterns), *map(_rule, rules), *_seeds(rules, bugs if kind == "bug" else ())]
        links += [_seed_table(bug) for bug in (bugs if kind == "bug" else ()) if seed_tables.told(bug)]
        links += _seed_cells(name) if kind == "pattern" else []
        links += _theory(name, bugs[:1], ())
    chain: dict[tuple[str, str], ChainLink] = {}
    for link in (*head, *links):
        chain.setdefault((link.kind, link.id), link)
    notes += entries.age_notes([store.bugs()[bug] for bug in bugs[:10]])
    return ExplainAnswer(name, view, list(chain.values()), notes)


def _around(kind: str, name: str) -> tuple[list[str], list[str], list[str]]:
    """(bugs, patterns, rules) that stand beside the subject."""
    rules = entries.rules()
    if kind == "bug":
        own = [rule for rule in rules if name in rules[rule].get("bugs", ())]
        return [name], [store.bugs()[name]["pattern"]], own
    if kind == "pattern":
        own = [rule for rule in rules if rules[rule].get("pattern") == name]
        return [bug["id"] for bug in entries.of_pattern(name)], [name], own
    if kind == "rule":
        pattern = rules[name].get("pattern")
        return _known(rules[name].get("bugs", ())), [pattern] if pattern else [], [name]
    if kind == "symptom":
        leads = store.symptoms()[name]["leads"]
        bugs = _known(lead.get("bug", "") for lead in leads)
        return (
            bugs,
            [lead["pattern"] for lead in leads if lead.get("pattern")],
            _rules(lead.get("rule", "") for lead in leads),
        )
    if kind == "proof":
        proof = _all_proofs()[name]
        return _known(proof.get("bugs", ())), list(proof.get("patterns", ())), _rules(proof.get("rules", ()))
    row = entries.seed_rows()[name]
    checks = _rules(row["checks"])
    bugs = _known([*row.get("cited", ()), *(bug for check in checks for bug in rules[check].get("bugs", ()))])
    patterns = [rules[check]["pattern"] for check in checks if rules[check].get("pattern")]
    patterns += [store.bugs()[bug]["pattern"] for bug in bugs]
    return bugs, list(dict.fromkeys(patterns)), checks


def _known(bugs: Iterable[str]) -> list[str]:
    return [bug for bug in dict.fromkeys(bugs) if bug in store.bugs()]


def _rules(rules: Iterable[str]) -> list[str]:
    return [rule for rule in dict.fromkeys(rules) if rule in entries.rules()]


def _link(kind: str, name: str) -> ChainLink:
    if kind == "seed":
        return _seed(entries.seed_rows()[name])
    if kind == "symptom":
        entry = store.symptoms()[name]
        return ChainLink("symptom", name, f"{entry['title']}. {entry.get('question', '')}".strip(), entries.urls(entry))
    return {"bug": _bug, "rule": _rule, "pattern": _pattern, "proof": _proof}[kind](name)


def _bug(name: str) -> ChainLink:
    bug = store.bugs()[name]
    ranges = "; ".join(f"{package} {bounds}" for package, bounds in entries.affected(bug).items())
    versions = f" ({entries.status(bug)}{': ' + ranges if ranges else ''})"
    return ChainLink("bug", name, f"{bug['title']}{versions}. {bug['mechanism']}", entries.urls(bug))


def _rule(name: str) -> ChainLink:
    rule = entries.rules()[name]
    return ChainLink("rule", name, entries.rule_text(rule), entries.urls(rule))


def _pattern(name: str) -> ChainLink:
    entry = store.patterns().get(name)
    if entry is None:
        return ChainLink("pattern", name, names.known_patterns().get(name, name))
    holds = f" Healthy: {entry['invariant']}" if entry.get("invariant") else ""
    return ChainLink("pattern", name, f"{entry['says']}{holds}", entries.urls(entry))


def _seed(row: Mapping[str, Any]) -> ChainLink:
    text = f"The seeds: {row['title']} ({row['why']}). Answer: {row['answer']}. {row['note']}"
    sources = [url for rule in _rules(row["checks"])[:2] for url in entries.urls(entries.rules()[rule])[:1]]
    sources = sources or [url for bug in _known(row.get("cited", ())) for url in entries.urls(store.bugs()[bug])[:1]]
    return ChainLink("seed", row["id"], text, list(dict.fromkeys(sources)))


def _seeds(rules: Iterable[str], bugs: Iterable[str]) -> Links:
    """Rows of the seeds that these rules carry, or that cite these bugs."""
    carried, cited = set(rules), set(bugs)
    return [
        _seed(row)
        for row in entries.seed_rows().values()
        if carried & set(row["checks"]) or cited & set(row.get("cited", ()))
    ]


def _claims(bugs: Iterable[str]) -> Links:
    return [
        ChainLink(
            "claim",
            f"{bug}/{at}",
            f"The seeds say: {row.says}. Answer: {row.answer}. {row.note}",
            entries.urls(store.bugs()[bug])[:1],
        )
        for bug in bugs
        for at, row in enumerate(entries.claims(store.bugs()[bug]), 1)
    ]


def _seed_table(bug: str) -> ChainLink:
    return ChainLink("seed_table", bug, " ".join(line[:1].upper() + line[1:] for line in seed_tables.told(bug)))


def _seed_cells(pattern: str) -> Links:
    """Cells that the seeds' tables have under this pattern."""
    rows = [row for row in seed_tables.differences() if names.pattern(row["pattern"]) == pattern]
    return [
        ChainLink(
            "seed_table",
            f"{row['cited']} in {row['framework']}",
            f"{row.get('now', 'no entry')}: {row['why'] or 'the entry agrees'}",
        )
        for row in rows
    ]


def _elsewhere(kind: str, name: str, bugs: list[str], patterns: list[str]) -> Links:
    """Bugs of the same patterns in other frameworks, and those that the entry names as related."""
    here = {store.bugs()[name]["package"]} if kind == "bug" else set()
    related = _known(other for bug in bugs if kind == "bug" for other in store.bugs()[bug].get("related", ()))
    counts: dict[str, int] = {}
    found = list(related)
    for pattern in patterns:
        for bug in entries.of_pattern(pattern):
            package = bug["package"]
            if package not in here and counts.get(package, 0) < _ELSEWHERE:
                counts[package] = counts.get(package, 0) + 1
                found.append(bug["id"])
    return [_bug(bug) for bug in dict.fromkeys(found)]


def _theory(name: str, bugs: Iterable[str], patterns: Iterable[str]) -> Links:
    """Derivations and notes that name the subject."""
    about = {name, *bugs, *patterns}
    return _proofs(about) + [
        ChainLink("note", f"notebook://{note['name']}", note["title"], note.get("sources", [])[:1])
        for note in store.notes().values()
        if about & set(note.get("bugs", ()))
    ]


def _proofs(about: set[str]) -> Links:
    """Proofs that stand behind one of these."""
    return [_proof(proof["id"]) for proof in store.proofs() if about & set(proof["about"])]


def _proof(name: str) -> ChainLink:
    proof = _all_proofs()[name]
    return ChainLink(
        "proof", name, f"{proof['title']}. {proof['statement']}", [source["url"] for source in proof["sources"]]
    )


def _all_proofs() -> dict[str, dict[str, Any]]:
    return {proof["id"]: proof for proof in store.proofs()}


def _shaped(answer: ExplainAnswer, detail: str, limit: int | None) -> dict[str, Any]:
    data = to_data(answer)
    if detail == "brief":
        chars = _CHARS if answer.id else {"seed": 150}
        for link in data["chain"]:
            link["text"] = short(link["text"], chars.get(link["kind"], 200))
            link["references"] = link["references"][:1]
    fit(data, ["chain"], allowance(detail), "raise `detail`", limit)
    return data
