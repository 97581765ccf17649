"""A Diagnosis as plain JSON types, whole or as short as an assistant needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..lookup.short import allowance, fit, short, without
from ..model import plain
from .model import Diagnosis

BRIEF_CHARS = 3_000
_BRIEF_ROWS, _NORMAL_ROWS = 3, 5
_BRIEF_SIGNALS = 4
_BRIEF_COVERAGE = 4  # files and notes
# Of a brief hypothesis: how many texts of each kind, and how long each; the first one keeps more.
_LEADER = {"evidence": (3, 150), "against": (1, 130), "confirm": (1, 200), "fix": (2, 220)}
_OTHERS = {"evidence": (1, 110), "against": (1, 90), "confirm": (1, 130), "fix": (1, 130)}
_BUGS = 4


def to_data(answer: Diagnosis, detail: str = "full", limit: int | None = None) -> dict[str, Any]:
    """In: the answer, how much ("brief", "normal", "full"), most hypotheses. What is cut is said in `notes`."""
    data: dict[str, Any] = without(plain(replace(answer, curves=[])), "curves")
    data["signals"] = [_shown(row) for row in data["signals"]]
    if detail == "brief":
        data["hypotheses"] = [
            _brief(row, _OTHERS if place else _LEADER) for place, row in enumerate(data["hypotheses"])
        ]
        data["signals"] = [_line(row) for row in data["signals"][:_BRIEF_SIGNALS]]
        data["ask_next"] = [short(text, 160) for text in data["ask_next"][:2]]
        data["coverage"] = {
            name: value[:_BRIEF_COVERAGE]
            for name, value in data["coverage"].items()
            if name in ("files", "notes") and value
        }
    most = limit or {"brief": _BRIEF_ROWS, "normal": _NORMAL_ROWS}.get(detail)
    fit(data, ["hypotheses", "signals"], allowance(detail, BRIEF_CHARS), "raise `limit` or `detail`", most)
    return data if data["notes"] else without(data, "notes")


def _brief(row: dict[str, Any], sizes: dict[str, tuple[int, int]]) -> dict[str, Any]:
    cut = {name: [short(text, chars) for text in row[name][:count]] for name, (count, chars) in sizes.items()}
    kept = {**row, **cut, "bugs": row["bugs"][:_BUGS], "references": row["references"][:1]}
    return {name: value for name, value in kept.items() if value != []}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A signal without what only the ranking needs."""
    kept = without(row, "patterns", "symptoms")
    return {name: value for name, value in kept.items() if value != "" or name == "evidence"}


def _line(row: dict[str, Any]) -> dict[str, Any]:
    kept = {**row, "evidence": short(row["evidence"], 110)}
    return {name: value for name, value in kept.items() if value is not None}
