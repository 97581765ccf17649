"""What a check can answer. There is no default: a check that cannot decide says what would decide it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .expr import Unknown

__all__ = ["NOT_APPLICABLE", "PASS", "Hit", "NotApplicable", "Outcome", "Pass", "Unknown"]


@dataclass(frozen=True, slots=True)
class Pass:
    """The check applies and finds nothing."""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The check does not concern this run."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """The fault is there. Code checks fill in the texts; for data rules they come from the rule's YAML.

    anchor: the canonical field the finding is about. edits: canonical field -> value that would cure it.
    """

    anchor: str = ""
    message: str = ""
    fix: str = ""
    edits: dict[str, Any] = field(default_factory=dict)


PASS = Pass()
NOT_APPLICABLE = NotApplicable()
Outcome = Pass | NotApplicable | Hit | Unknown
