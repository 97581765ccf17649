"""Short answers: texts end at a sentence or word, lists are cut from the end, and every cut is announced."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

# Characters of the compact JSON; four of them are about one token.
BRIEF_CHARS = 2_400
MAP_CHARS = 3_200
NORMAL_CHARS = 12_000


def allowance(detail: str, brief: int = BRIEF_CHARS) -> int | None:
    """Characters that an answer may have; None for everything."""
    return {"brief": brief, "normal": max(brief, NORMAL_CHARS)}.get(detail)


def short(text: str, chars: int) -> str:
    """The text, or its first sentences that fit, or its first words and an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= chars:
        return text
    ends = [match.end() for match in re.finditer(r"[.;!?](?=\s)", text[: chars + 1])]
    if ends and ends[-1] >= chars // 2:
        return text[: ends[-1]].rstrip(";")
    return text[: chars - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def size(data: Any) -> int:
    """Characters of the compact JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def fit(data: dict[str, Any], lists: Sequence[str], chars: int | None, more: str, limit: int | None = None) -> int:
    """Cut rows off the end of the named lists, the last named first, until the answer fits; a first row stays.

    limit: most rows of the first list. more: what shows the rest, for the note. Returns how many rows of the first
    list were cut.
    """
    had = {name: len(data.get(name, ())) for name in lists}
    if limit is not None and lists:
        data[lists[0]] = data.get(lists[0], [])[:limit]
    if chars is not None:
        for name in reversed(lists):
            while size(data) > chars - _NOTE_CHARS and len(data.get(name, ())) > 1:
                data[name] = data[name][:-1]
    cut = {name: had[name] - len(data.get(name, ())) for name in lists}
    told = ", ".join(f"{count} more {_WORDS.get(name, name)}" for name, count in cut.items() if count)
    if told:
        data["notes"] = [*data.get("notes", []), f"cut: {told}; {more}"]
    return cut[lists[0]] if lists else 0


_WORDS = {"chain": "links"}
_NOTE_CHARS = 120  # room for the note that says what was cut


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
