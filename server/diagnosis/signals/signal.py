"""A signal with the patterns that it speaks for; what each id means is data (knowledge/signals.yaml)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...store import signals
from ..model import Signal
from .run import Points


@dataclass(slots=True)
class LogSignal(Signal):
    """A signal of a log: weights per pattern, the symptoms that it is a sign of, where its threshold comes from."""

    patterns: dict[str, float] = field(default_factory=dict)
    symptoms: list[str] = field(default_factory=list)
    threshold: str = ""
    metric: str = ""


def signal(
    name: str,
    evidence: str,
    *,
    source: str = "metric",
    step: float | None = None,
    line: int | None = None,
    severity: str = "",
    metric: str = "",
) -> LogSignal:
    """A signal as its entry describes it; `severity` lowers it. Raises KeyError for a name without an entry."""
    row = signals.signal(name)
    return LogSignal(
        id=name,
        title=row["title"],
        severity=severity or row["severity"],
        evidence=evidence,
        source=source,
        step=None if step is None else int(step),
        line=line or None,
        patterns=dict(row["patterns"]),
        symptoms=list(row["symptoms"]),
        threshold=signals.data()["sources"][row["source"]],
        metric=metric,
    )


def seen(name: str, evidence: str, points: Points, place: int, severity: str = "") -> LogSignal:
    """A signal of one metric, with its onset at a place of the points."""
    step, line = points.steps[place], points.lines[place]
    return signal(name, evidence, step=step, line=line, severity=severity, metric=points.name)
