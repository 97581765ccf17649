"""fixes: state, versions, fix and workaround of one bug, of a pattern, or of all, grouped by pattern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..configs.values import InputError
from ..store import lookup as store
from . import entries, names
from .answers import FixesAnswer, FixRow, PatternRow, to_data
from .short import allowance, fit, short, without

_BRIEF_ROWS = {"one": 1, "pattern": 6, "all": 10}


def fixes(bug: str = "", pattern: str = "", offset: int = 0, limit: int | None = None, detail: str = "full") -> Any:
    """The fixes asked for, from the `offset`-th on. Raises InputError for a bug or pattern that is not known."""
    if bug.strip():
        return _one(store.bugs()[names.bug(bug)], detail)
    chosen = _of_pattern(pattern) if pattern.strip() else _all()
    data = to_data(
        FixesAnswer(
            total=len(chosen),
            fixes=[_row(entry) for entry in chosen[offset:]],
            patterns=[] if pattern.strip() else _counts(chosen),
            notes=entries.age_notes(chosen[offset : offset + 10]),
        )
    )
    kind = "pattern" if pattern.strip() else "all"
    if detail != "full":
        data["fixes"] = [_brief(row, kind) for row in data["fixes"]]
    if detail == "brief" or not data["patterns"]:
        data.pop("patterns")
    most = limit or {"brief": _BRIEF_ROWS[kind], "normal": 25}.get(detail)
    cut = fit(data, ["fixes"], allowance(detail), "go on from `next_offset`, or name a bug or pattern", most)
    if cut:
        data["next_offset"] = len(chosen) - cut
    return data


def _one(bug: Mapping[str, Any], detail: str) -> dict[str, Any]:
    data = to_data(FixesAnswer(1, [_row(bug)], notes=entries.age_notes([bug])))
    data.pop("patterns")
    if detail == "brief":
        row = without(data["fixes"][0], "open_questions", "verdict")
        row["claims"] = [without(claim, "note") for claim in row.get("claims", ())]
        texts = {"fix": 400, "workaround": 400, "mechanism": 400, "trigger": 240, "confirm": 240}
        row |= {name: short(row[name], chars) for name, chars in texts.items() if name in row}
        row["references"] = row["references"][:2]
        data["fixes"] = [without(row, *(() if row["claims"] else ("claims",)))]
    return data


def _of_pattern(text: str) -> list[Mapping[str, Any]]:
    found = names.pattern(text)
    if not found:
        hint = names.nearest(text.replace(" ", "_"), names.known_patterns())
        raise InputError(f"no pattern {text!r}{hint}; `playbook` without a topic lists them")
    return entries.of_pattern(found)


def _all() -> list[Mapping[str, Any]]:
    """Every bug, pattern by pattern, the seeds' classes first."""
    order = entries.ordered(names.known_patterns(), entries.SEED_PATTERNS)
    return [bug for pattern in order for bug in entries.of_pattern(pattern)]


def _counts(bugs: list[Mapping[str, Any]]) -> list[PatternRow]:
    titles = names.known_patterns()
    counts: dict[str, int] = {}
    for bug in bugs:
        counts[bug["pattern"]] = counts.get(bug["pattern"], 0) + 1
    return [PatternRow(name, titles[name], bugs=count) for name, count in counts.items()]


def _row(bug: Mapping[str, Any]) -> FixRow:
    return FixRow(
        bug=bug["id"],
        title=bug["title"],
        pattern=bug["pattern"],
        status=entries.status(bug),
        severity=bug["severity"],
        affected=entries.affected(bug),
        fixed_in=dict(bug.get("fixed_in", {})),
        fix=bug["fix"],
        workaround=bug.get("workaround", ""),
        mechanism=bug["mechanism"],
        trigger=bug.get("trigger_text") or bug.get("trigger", ""),
        confirm=bug.get("confirm", ""),
        claims=entries.claims(bug),
        related=bug.get("related", []),
        open_questions=bug.get("open_questions", []),
        verdict=bug["verdict"],
        last_verified=bug["last_verified"],
        references=entries.urls(bug),
    )


def _brief(row: dict[str, Any], kind: str) -> dict[str, Any]:
    shown = ("bug", "title", "status", "affected", "fixed_in", "fix", "workaround", "references")
    kept = {name: row[name] for name in (*shown, *(("pattern",) if kind == "all" else ())) if name in row}
    kept["fix"] = short(kept["fix"], 80 if kind == "all" else 140)
    kept["workaround"] = short(kept["workaround"], 80)
    kept["references"] = kept["references"][:1]
    return without(kept, "affected", "workaround") if kind == "all" else kept
