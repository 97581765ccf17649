"""The answer of diagnose: plain dataclasses, in the words of the interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..model import Curve


@dataclass(slots=True)
class Signal:
    """Something seen in the input that is out of the ordinary, and where it stands."""

    id: str
    title: str
    severity: str  # error | warning | info
    evidence: str
    source: str  # words | log | metric | config
    step: int | None = None
    line: int | None = None


@dataclass(slots=True)
class Hypothesis:
    """One possible cause. `confidence` is the share of like cases in which this rank's score was right."""

    rank: int
    pattern: str
    title: str
    confidence: float
    bugs: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)
    confirm: list[str] = field(default_factory=list)
    fix: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Diagnosis:
    """The answer of diagnose. No hypothesis means that the input does not say enough; `ask_next` says what would."""

    signals: list[Signal] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    ask_next: list[str] = field(default_factory=list)
    not_a_fault: str | None = None
    coverage: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)  # for pages and terminals, no part of the JSON
