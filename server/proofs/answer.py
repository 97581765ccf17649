"""proof: which derivation a query means, its text, and its check, run now."""

from __future__ import annotations

import time
from functools import lru_cache
from importlib import import_module
from typing import Any

from ..configs.values import InputError
from ..lookup.matching import Phrasebook
from ..lookup.short import short
from ..lookup.symptoms import vocabulary
from ..store import lookup as store

_BRIEF_CASES, _BRIEF_STEPS = 5, 3
_NEAR = 0.1  # a second match this close is named


def proof(query: str = "", detail: str = "full") -> dict[str, Any]:
    """The proof that a query means: an id, words, a rule, a bug, or D01 to N17; all of them without a query.

    Raises InputError when no proof is about it.
    """
    if not query.strip():
        return {"proofs": [_row(entry) for entry in store.proofs()]}
    entry, others = find(query)
    answer = _text(entry) | {"check": run(entry)}
    if others:
        answer["notes"] = [f"also near: {', '.join(others)}"]
    return _brief(answer) if detail == "brief" else answer


def find(query: str) -> tuple[dict[str, Any], list[str]]:
    """The proof and the ids of others that are nearly as close. Raises InputError."""
    known = {entry["id"]: entry for entry in store.proofs()}
    plain = query.strip().lower()
    if plain in known:
        return known[plain], []
    named = [name for name, entry in known.items() if plain in (about.lower() for about in entry["about"])]
    if not named:
        matches = _phrasebook().rank(query, 4)
        named = [match.id for match in matches if match.score > matches[0].score - _NEAR]
        if matches and matches[0].score == 1.0:
            named = named[:1]
    if not named:
        raise InputError(f"no proof is about {query.strip()!r}: there are {', '.join(known)}")
    return known[named[0]], named[1:]


def run(entry: dict[str, Any]) -> dict[str, Any]:
    """Run the check. The figures are the same each time, but for the seconds."""
    module = import_module(f".{entry['id'].replace('-', '_')}", __package__)
    started = time.perf_counter()
    cases = [case.data() for case in module.check()]
    seconds = time.perf_counter() - started
    passed = bool(cases) and all(case["pass"] for case in cases)
    return {"does": entry["check"], "cases": cases, "pass": passed, "seconds": round(seconds, 3)}


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    first = entry["claims"][0]
    return {"id": entry["id"], "title": entry["title"], "claim": first["says"], "answer": first["answer"]}


def _text(entry: dict[str, Any]) -> dict[str, Any]:
    about = {name: entry[name] for name in ("seed", "rules", "bugs", "patterns") if entry.get(name)}
    return {
        **_row(entry),
        "note": entry["claims"][0]["note"],
        "claims": entry["claims"],
        "statement": entry["statement"],
        "assumptions": entry["assumptions"],
        "derivation": entry["derivation"],
        **about,
        "references": [source["url"] for source in entry["sources"]],
        "last_verified": entry["last_verified"],
    }


def _brief(answer: dict[str, Any]) -> dict[str, Any]:
    """Statement, the first steps and cases, and how much was left out; failing cases come first."""
    check = answer["check"]
    cases = sorted(check["cases"], key=lambda case: case["pass"])
    cut = {
        "claims": len(answer["claims"]) - 1,
        "assumptions": len(answer["assumptions"]),
        "steps": max(0, len(answer["derivation"]) - _BRIEF_STEPS),
        "cases": max(0, len(cases) - _BRIEF_CASES),
    }
    told = ", ".join(f"{count} {name}" for name, count in cut.items() if count)
    return {
        **{name: answer[name] for name in ("id", "title", "claim", "answer")},
        "note": short(answer["note"], 260),
        "statement": short(answer["statement"], 420),
        "derivation": [short(step, 180) for step in answer["derivation"][:_BRIEF_STEPS]],
        "check": {"cases": cases[:_BRIEF_CASES], "pass": check["pass"], "seconds": check["seconds"]},
        "references": answer["references"][:2],
        "notes": [*answer.get("notes", []), f"cut: {told}; raise `detail`"] if told else answer.get("notes", []),
    }


@lru_cache(maxsize=1)
def _phrasebook() -> Phrasebook:
    return Phrasebook(store.phrasebook("proofs"), vocabulary())
