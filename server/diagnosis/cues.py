"""Cues: readable rules of the kind "out of memory, at the wake-up: the handover" (knowledge/diagnosis.yaml).

A sign is something that a text may say, in several ways and two languages. A config shows fewer signs than words do:
that sleep mode is on does not mean that the failure is at the wake-up. A cue names the signs that must stand
there together, those that must not, the pattern that it speaks for (or against, with a negative weight), and why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from . import index
from .evidence import Evidence

_MOST_CHARS = 40_000  # of text that signs are looked for in


@dataclass(frozen=True, slots=True)
class Cue:
    """A rule that applies to the text."""

    pattern: str
    weight: float
    why: str


def signs_of(evidence: Evidence) -> frozenset[str]:
    """Signs that the words, log lines and settings show; those of the settings only beside others."""
    seen = signs_in("\n".join([evidence.words, *evidence.lines, *evidence.facts]), "signs")
    return seen | signs_in(evidence.config, "config_signs") if seen else seen


def cues_in(seen: frozenset[str]) -> list[Cue]:
    """The cues that signs give, in the order of the file."""
    found = []
    for row in index.data()["cues"]:
        if seen.issuperset(row["when"]) and seen.isdisjoint(row.get("unless", ())):
            found += [Cue(pattern, weight, row["why"]) for pattern, weight in row["for"].items()]
    return found


def signs_in(text: str, kind: str) -> frozenset[str]:
    """Names of the signs that a text shows; kind: "signs" for words and logs, "config_signs" for a config."""
    text = text[:_MOST_CHARS]
    lowered = text.lower()
    return frozenset(
        name
        for name, ways in index.data()[kind].items()
        if any(_compiled(way).search(text) for way, *pieces in ways if all(piece in lowered for piece in pieces))
    )


@cache
def _compiled(way: str) -> re.Pattern[str]:
    """Only when all pieces of a way stand in a text: most are never needed."""
    return re.compile(way, re.IGNORECASE)
