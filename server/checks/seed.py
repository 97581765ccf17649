"""The seeds' 36 rules, each answered by the true rules that replace it. Nothing passes by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..configs.run_config import RunConfig
from ..model import SeedRow
from ..store.index import section
from .engine import Verdict, needs_of
from .expr import Unknown
from .outcome import Hit, NotApplicable, Pass

_RANK = ("fail", "warn", "unknown", "pass", "not_applicable")  # the first one present is the row's status


def seed_rows(run: RunConfig, verdicts: Sequence[Verdict]) -> list[SeedRow]:
    """The 36 rows in the seeds' order, with status and the reason for it."""
    by_id = {verdict.rule["id"]: verdict for verdict in verdicts}
    rows = section("seed_rules")
    return [_row(row, [by_id[check] for check in row["checks"] if check in by_id], run) for row in rows]


def _row(row: dict[str, Any], verdicts: Sequence[Verdict], run: RunConfig) -> SeedRow:
    statuses = [_status(verdict) for verdict in verdicts]
    status = next((name for name in _RANK if name in statuses), "not_applicable")
    reasons = [_reason(verdict, run) for verdict, found in zip(verdicts, statuses, strict=True) if found == status]
    note = " ".join(filter(None, (row["note"], *dict.fromkeys(reasons))))
    return SeedRow(row["id"], row["title"], row["answer"], status, list(row["checks"]), note)


def _status(verdict: Verdict) -> str:
    match verdict.outcome:
        case Hit():
            return "fail" if verdict.finding is not None and verdict.finding.severity == "error" else "warn"
        case Unknown():
            return "unknown"
        case Pass():
            return "pass"
    return "not_applicable"


def _reason(verdict: Verdict, run: RunConfig) -> str:
    """Why a row stands as it does: the finding's message, what would decide it, or why it does not apply."""
    name = verdict.rule["id"]
    match verdict.outcome:
        case Hit() if verdict.finding is not None:
            return f"{name}: {verdict.finding.message}"
        case Unknown() as unknown:
            return f"{name}: needs {', '.join(needs_of(unknown, run))}."
        case NotApplicable(reason=reason):
            return f"{name}: {reason or 'does not concern this run'}."
    return ""
