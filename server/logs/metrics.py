"""From a metric's name in a log to the canonical name that detectors use (knowledge/metrics.yaml, compiled)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..store import signals

_PREFIXES = ("train/", "training/", "train.", "metrics/")
_ASIDE = re.compile(r"(^|[/_.])(eval|val|test|validation|critic|ref|draft|mtp|teacher)([/_.-]|$)")


@lru_cache(maxsize=8192)
def canonical(name: str) -> tuple[str, int] | None:
    """Canonical name and rank among its names (0 is read first), None when unknown or no metric of the run's health."""
    tables = _tables()
    plain = name.strip().lower()
    if plain in tables.aside:
        return None
    plain = plain[:-4] if plain.endswith("/avg") else plain
    for form in (plain, plain.replace(" ", "_"), *(plain[len(head) :] for head in _PREFIXES if plain.startswith(head))):
        if found := tables.names.get(form):
            return found
    for expression, target, many in tables.patterns:
        if found_part := expression.search(plain):
            return (f"{target}:{found_part['part']}" if many else target), 50
    last = plain.rpartition("/")[2]
    if last in tables.anywhere and not _ASIDE.search(plain):
        return tables.anywhere[last], 100
    return None


def frameworks_of(name: str) -> list[str]:
    """Frameworks that use this very name."""
    found: list[str] = signals.data()["metrics"]["users"].get(name.strip().lower(), [])
    return found


@lru_cache(maxsize=8192)
def is_known_aside(name: str) -> bool:
    """Whether a name is that of a step, an epoch or a counter: known, and no metric."""
    return name.strip().lower() in _tables().aside


def step_names() -> frozenset[str]:
    """Names under which records carry their step."""
    return _tables().steps


def step_order() -> list[str]:
    """The same, the surest first."""
    found: list[str] = signals.data()["metrics"]["steps"]
    return found


@dataclass(frozen=True)
class _Tables:
    names: dict[str, tuple[str, int]]
    anywhere: dict[str, str]  # by last part
    patterns: list[tuple[re.Pattern[str], str, bool]]
    aside: frozenset[str]  # steps, epochs and counters
    steps: frozenset[str]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    data = signals.data()["metrics"]
    return _Tables(
        {name: (target, place) for name, (target, place) in data["names"].items()},
        data["anywhere"],
        [(re.compile(text), target, many) for text, target, many in data["patterns"]],
        frozenset([*data["not_metrics"], *data["steps"]]),
        frozenset(data["steps"]),
    )
