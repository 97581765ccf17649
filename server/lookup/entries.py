"""What every look-up says of an entry: the state of a bug, where it is, its sources, and how old the reading is."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..store import lookup as store
from ..store.index import index
from .answers import BugState, Claim

SEVERITIES = ("error", "warning", "info")
OLD_DAYS = 180
# The seeds' seven classes and frameworks come first, in the seeds' order.
SEED_PATTERNS = (
    "cuda_stream_safety",
    "muon_clipping",
    "discrete_decision_mismatch",
    "lora_distortion",
    "colocation_handover_oom",
    "singleton_degeneration",
    "precision_overflow",
    "stale_cache_after_update",
)
SEED_FRAMEWORKS = ("deepspeed", "megatron", "vllm", "verl", "sglang", "rllm", "vllm-ascend")


def status(bug: Mapping[str, Any]) -> str:
    """fixed, open, reported (no cause established), or why there is nothing to fix: refuted, changed, limit ..."""
    if bug["verdict"] in ("refuted", "changed", "unverifiable"):
        return str(bug["verdict"])
    if bug.get("fixed_in"):
        return "fixed"
    if bug.get("kind", "bug") != "bug":
        return str(bug["kind"]).replace("_", " ")
    return "reported" if bug["verdict"] == "reported" else "open"


def affected(bug: Mapping[str, Any]) -> dict[str, str]:
    """{"verl": ">=0.7.1,<0.9.0"}; several ranges are joined by "or"."""
    return {package: " or ".join(part or "all" for part in ranges) for package, ranges in bug["ranges"].items()}


def state(bug: Mapping[str, Any], titled: bool = False) -> BugState:
    return BugState(bug["id"], status(bug), dict(bug.get("fixed_in", {})), bug["title"] if titled else "")


def urls(entry: Mapping[str, Any]) -> list[str]:
    return [reference["url"] for reference in entry.get("references", ())]


def claims(entry: Mapping[str, Any]) -> list[Claim]:
    return [Claim(row["says"], row["answer"], row["note"]) for row in entry.get("claims", ())]


def by_weight(bugs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Most serious first: level, whether it is still there, how many frameworks meet it; then by id."""
    return sorted(bugs, key=_weight)


def _weight(bug: Mapping[str, Any]) -> tuple[int, int, int, str]:
    standing = status(bug) in ("fixed", "changed", "refuted", "unverifiable")
    return SEVERITIES.index(bug["severity"]), int(standing), -len(bug.get("frameworks", ())), bug["id"]


def of_pattern(pattern: str) -> list[Mapping[str, Any]]:
    return by_weight(bug for bug in store.bugs().values() if bug["pattern"] == pattern)


def rules() -> dict[str, dict[str, Any]]:
    """Rules, and pairs of releases that fail together, by id."""
    return {rule["id"]: rule for rule in (*index()["rules"], *index()["pair_rules"])}


def seed_rows() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in index()["seed_rules"]}


def rule_text(rule: Mapping[str, Any]) -> str:
    """What a rule finds and advises, its placeholders replaced by the names of the fields."""
    told = (rule.get("message") or rule["title"], (rule.get("fix") or {}).get("text") or "")
    said = re.sub(r"\{(\w+)\.key\}\s*=\s*\{\1\}", r"\1", " ".join(filter(None, told)))
    return re.sub(r"\{([\w.]+?)(?:\.key)?\}", r"\1", said)


def ordered(names: Iterable[str], first: Iterable[str]) -> list[str]:
    """The names, those of `first` in their order before the rest."""
    place = {name: at for at, name in enumerate(first)}
    return sorted(set(names), key=lambda name: (place.get(name, len(place)), name))


def age_notes(entries: Iterable[Mapping[str, Any]], today: datetime.date | None = None) -> list[str]:
    """A line for entries that were last checked too long ago to be taken at their word."""
    day = today or datetime.date.today()
    old = [
        entry for entry in entries if (day - datetime.date.fromisoformat(str(entry["last_verified"]))).days > OLD_DAYS
    ]
    if not old:
        return []
    named = ", ".join(str(entry.get("id") or entry.get("name")) for entry in old[:5])
    more = f" and {len(old) - 5} more" if len(old) > 5 else ""
    first = min(str(entry["last_verified"]) for entry in old)
    return [f"last checked more than {OLD_DAYS} days ago (since {first}), so look at the source first: {named}{more}"]
