"""match_skill: which skill the user's words mean, with the tools and notes that it works with."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..store import lookup as store
from .answers import SkillRow, SkillsAnswer, to_data
from .matching import Phrasebook
from .symptoms import vocabulary


def match_skill(query: str, detail: str = "full") -> dict[str, Any]:
    """The skills that fit, best first; when none does, all of them with score 0 and a note that says so."""
    matches = _phrasebook().rank(query, len(store.skills()))
    rows = [_row(match.id, match.score, match.phrase) for match in matches]
    notes: list[str] = []
    if not rows:
        rows = [_row(name, 0.0, "") for name in store.skills()]
        notes = ["no trigger is like this; these are all skills"]
    data = to_data(SkillsAnswer(query, rows, notes))
    if detail == "brief":
        for row in data["skills"][1:]:
            row.pop("cli", None)
            row.pop("notes", None)
    return data


def _row(name: str, score: float, matched: str) -> SkillRow:
    skill = store.skills()[name]
    return SkillRow(
        name, skill["title"], score, matched, skill.get("tools", []), skill.get("notes", []), skill.get("cli", [])
    )


@lru_cache(maxsize=1)
def _phrasebook() -> Phrasebook:
    return Phrasebook(store.phrasebook("skills"), vocabulary())
