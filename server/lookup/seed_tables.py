"""The seeds' two tables of bugs by pattern and framework, cell by cell against the entries: what differs, and why."""

from __future__ import annotations

from typing import Any

from ..store import lookup as store
from . import entries, names

_TABLES = {"matrix": "the matrix of patterns and frameworks", "map": "the pattern map of grpo-debug"}


def differences(bug: str = "") -> list[dict[str, Any]]:
    """Each cell (all, or those of one bug), where the entry stands, whether that differs, and why."""
    rows = (_row(cell) for cell in store.table("seed_matrix")["cells"])
    return [row for row in rows if row and bug in ("", row.get("bug"))]


def _row(cell: dict[str, Any]) -> dict[str, Any]:
    entry = store.bugs().get(cell.get("bug", ""))
    said = {"table": cell["table"], "pattern": cell["pattern"], "framework": cell["framework"], "cited": cell["cited"]}
    if entry is None:
        return {**said, "differs": True, "why": cell.get("note", "") or "no entry stands for it"}
    pattern = names.pattern(cell["pattern"]) or cell["pattern"]
    columns = {names.framework(name) or name for name in cell["framework"].lower().split(", ")}
    reasons = []
    if entry["package"] not in columns:
        reasons.append(f"the fault is in {entry['package']}, not {' or '.join(sorted(columns))}")
    if entry["pattern"] != pattern:
        reasons.append(f"it is {entry['pattern']}: {entry['title']}")
    if entry["verdict"] in ("refuted", "unverifiable"):
        reasons.append(f"as stated it is {entry['verdict']}")
    if reasons and cell.get("note", ""):
        reasons.append(cell.get("note", ""))
    wrong = [claim for claim in entry.get("claims", ()) if claim["answer"] == "wrong"]
    if reasons and wrong:
        reasons.append(wrong[0]["note"])
    return {
        **said,
        "bug": entry["id"],
        "now": f"{entry['pattern']} in {entry['package']}, {entries.status(entry)}",
        "differs": bool(reasons),
        "why": "; ".join(reason.rstrip(".") for reason in reasons),
    }


def told(bug: str) -> list[str]:
    """What the seeds' tables have of a bug, in sentences; cells that differ for one reason share one."""
    by_reason: dict[str, list[str]] = {}
    for row in differences(bug):
        place = f"{_TABLES[row['table']]} lists {row['cited']} under {row['pattern']} in {row['framework']}"
        by_reason.setdefault(row["why"] or "the entry agrees", []).append(place)
    return [f"{' and '.join(places)}: {reason}." for reason, places in by_reason.items()]
