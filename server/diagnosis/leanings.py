"""What single signs say of patterns: a sign's weight is how much the known defects that show it lean to a pattern.

The weights are learnt from the knowledge base alone (scripts/sign_weights.py), so they know no labelled case. Cues
say what signs mean together.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from . import index


@dataclass(frozen=True, slots=True)
class Leaning:
    """What all signs together say for a pattern, and what each one adds to it."""

    score: float
    parts: dict[str, float]

    def told(self, most: int, least: float) -> list[str]:
        """The signs that say most for it, in words."""
        rows = sorted((-part, sign) for sign, part in self.parts.items() if part >= least)
        return [sign.replace("_", " ") for _, sign in rows[:most]]


def leanings(seen: Collection[str]) -> dict[str, Leaning]:
    """Per pattern what the signs say, those that no sign leans to left out."""
    table = index.data()["sign_weights"]
    known = sorted(sign for sign in seen if sign in table["rarity"])
    length = math.sqrt(sum(table["rarity"][sign] ** 2 for sign in known))
    parts: dict[str, dict[str, float]] = {}
    for sign in known:
        for pattern, weight in table["weights"][sign].items():
            parts.setdefault(pattern, {})[sign] = weight * table["rarity"][sign] / length
    return {pattern: Leaning(sum(row.values()), row) for pattern, row in parts.items()}
