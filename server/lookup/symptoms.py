"""symptoms: from what a user sees to ranked causes, a fix to try, and the question that separates the causes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..store import lookup as store
from . import entries
from .answers import Cause, SymptomRow, SymptomsAnswer, to_data
from .matching import Match, Phrasebook
from .short import MAP_CHARS, allowance, fit, short, without
from .words import MAX_CHARS, Vocabulary

_BY_SIGNATURE = 0.3  # what an error line of the entry in the query adds to its score
_DETAIL_MATCHES = 3  # matches of a short answer
_REST_CHARS = 700  # room for the names of what a short map does not show
_CHARS = {"fix": 240, "question": 200, "not_a_fault_if": 160}


def symptoms(query: str = "", limit: int | None = None, detail: str = "full") -> dict[str, Any]:
    """The entries that fit the query, best first; without a query the whole map, the seeds' 8 first."""
    return _matches(query, limit, detail) if query.strip() else _map(limit, detail)


def rank(query: str, limit: int) -> list[Match]:
    """Ids of fitting symptoms with score and phrasing."""
    return _phrasebook().rank(query, limit, _signed(query))


def _matches(query: str, limit: int | None, detail: str) -> dict[str, Any]:
    matches = rank(query, len(store.symptoms()))
    found = [_row(store.symptoms()[match.id], match) for match in matches]
    answer = SymptomsAnswer(query, found, entries.age_notes(store.symptoms()[match.id] for match in matches[:5]))
    if not found:
        answer.notes.append(
            "no known symptom is like this; `diagnose` reads logs and configs, an empty query shows all"
        )
    data = to_data(answer)
    if detail != "full":
        data["symptoms"] = [_brief(row, first=place == 0) for place, row in enumerate(data["symptoms"])]
    most = limit or {"brief": _DETAIL_MATCHES, "normal": 10}.get(detail)
    fit(data, ["symptoms"], allowance(detail), "raise `limit`", most)
    return data


def _map(limit: int | None, detail: str) -> dict[str, Any]:
    data = to_data(SymptomsAnswer("", [_row(entry, None) for entry in store.symptoms().values()]))
    if detail == "brief":
        data["symptoms"] = [_line(row) for row in data["symptoms"]]
    elif detail == "normal":
        data["symptoms"] = [without(row, "metrics", "claims", "references", "question") for row in data["symptoms"]]
    known = [row["id"] for row in data["symptoms"]]
    allowed = allowance(detail, MAP_CHARS)
    cut = fit(data, ["symptoms"], allowed and allowed - _REST_CHARS, "ask with a query, or raise `detail`", limit)
    if cut:
        data["notes"].append(f"not shown: {short(', '.join(known[-cut:]), _REST_CHARS)}")
    return data


def _row(entry: Mapping[str, Any], match: Match | None) -> SymptomRow:
    return SymptomRow(
        id=entry["id"],
        title=entry["title"],
        score=match.score if match else None,
        matched=match.phrase if match else "",
        likely=[Cause(**lead) for lead in entry["leads"]],
        fix=entry.get("fix", ""),
        question=entry.get("question", ""),
        not_a_fault_if=entry.get("not_a_fault_if", ""),
        metrics=entry.get("metrics", []),
        seed=entry.get("seed") or "",
        claims=entries.claims(entry),
        references=entries.urls(entry),
        last_verified=entry["last_verified"],
    )


def _brief(row: dict[str, Any], first: bool) -> dict[str, Any]:
    """The best match with all that helps to act; of the next ones what tells them apart."""
    kept = without(row, "metrics", "claims", "last_verified", *(() if first else ("question", "not_a_fault_if")))
    kept |= {name: short(kept[name], chars) for name, chars in _CHARS.items() if name in kept}
    causes = kept["likely"][: 4 if first else 2]
    kept["likely"] = [{**cause, "why": short(cause["why"], 110 if first else 80)} for cause in causes]
    kept["references"] = kept.get("references", [])[: 2 if first else 1]
    return kept


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """One line of the map: ranked causes by name; the seeds' symptoms keep three."""
    causes = [without(cause, "why") for cause in row["likely"][: 3 if row.get("seed") else 1]]
    return {"id": row["id"], "title": row["title"], "likely": causes}


def _signed(query: str) -> dict[str, float]:
    """Symptoms whose error signature stands in the query."""
    text = query[:MAX_CHARS]
    return {
        name: _BY_SIGNATURE
        for name, entry in store.symptoms().items()
        if any(re.search(signature, text, re.IGNORECASE) for signature in entry.get("signatures", ()))
    }


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    words = store.table("vocabulary")
    return Vocabulary(
        words["concepts"], words["stopwords"], words["decisive"], words["overshadowed"], words["contrary"]
    )


@lru_cache(maxsize=1)
def _phrasebook() -> Phrasebook:
    return Phrasebook(store.phrasebook("symptoms"), vocabulary())
