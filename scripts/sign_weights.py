"""What signs say of patterns, learnt from the knowledge base: a linear model with one weight per sign and pattern.

Every entry of knowledge/bugs is an example: the signs that its text shows (knowledge/diagnosis.yaml `signs`), and its
pattern; so is every line of patterns.yaml that says how a pattern shows itself. Ridge regression of the pattern on the
signs: rare signs count more (square root of their log rarity), rare patterns are weighted up (square root of their
count), and a text's signs are scaled to length one. No labelled case takes part. build_diagnosis.py compiles the
result; benchmarks/diagnosis/accuracy.py fits it again without the bugs that it holds out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

RIDGE = 3.0
LEAST = 0.02  # a smaller weight is left out
_DIGITS = 3
USED = ("confirmed", "reported", "changed")


def text_of(bug: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """What is told of an entry, in the order of how a user would tell it."""
    lists = [*bug.get("examples", ()), *bug.get("metrics", ()), *(titles.get(name, "") for name in bug["symptoms"])]
    parts = [bug["title"], bug.get("trigger_text", ""), *lists, bug["mechanism"], bug.get("workaround", "")]
    return "\n".join(parts)


def examples(
    bugs: Mapping[str, Mapping[str, Any]],
    patterns: Mapping[str, Mapping[str, Any]],
    titles: Mapping[str, str],
    signs: Mapping[str, list[str]],
) -> dict[str, tuple[str, frozenset[str]]]:
    """Per entry its pattern and the signs of its text; each line that says how a pattern shows itself is one more."""
    compiled = {name: re.compile("|".join(ways), re.IGNORECASE) for name, ways in signs.items()}
    found = {}
    for name, bug in sorted(bugs.items()):
        if bug["verdict"] in USED:
            text = text_of(bug, titles)
            found[name] = (bug["pattern"], frozenset(sign for sign, way in compiled.items() if way.search(text)))
    for name, row in sorted(patterns.items()):
        for place, text in enumerate([f"{row['title']}\n{row['says']}", *row["shows"]]):
            seen = frozenset(sign for sign, way in compiled.items() if way.search(text))
            found[f"{name}:{place}"] = (name, seen)
    return found


def fit(
    rows: Mapping[str, tuple[str, frozenset[str]]], signs: Collection[str], without: Collection[str] = ()
) -> dict[str, Any]:
    """`rarity` per sign and `weights` per sign and pattern, from all rows but those named in `without`."""
    names = sorted(signs)
    place = {name: at for at, name in enumerate(names)}
    kept = [row for name, row in sorted(rows.items()) if name not in without]
    patterns = sorted({pattern for pattern, _ in kept})
    shown = np.zeros((len(kept), len(names)))
    wanted = np.zeros((len(kept), len(patterns)))
    for at, (pattern, seen) in enumerate(kept):
        shown[at, [place[name] for name in seen]] = 1.0
        wanted[at, patterns.index(pattern)] = 1.0
    rarity = np.sqrt(np.log(1 + len(kept) / (1 + shown.sum(axis=0))))
    scaled = shown * rarity
    scaled /= np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-9)
    weight = wanted @ (1 / np.sqrt(wanted.sum(axis=0)))
    weight /= weight.mean()
    left = scaled.T @ (weight[:, None] * scaled) + RIDGE * np.eye(len(names))
    solved = np.linalg.solve(left, scaled.T @ (weight[:, None] * wanted))
    return {
        "rarity": {name: round(float(rarity[place[name]]), _DIGITS) for name in names},
        "weights": {
            name: {
                pattern: round(float(solved[place[name], at]), _DIGITS)
                for at, pattern in enumerate(patterns)
                if abs(solved[place[name], at]) >= LEAST
            }
            for name in names
        },
    }


def priors(
    counts: Mapping[str, int],
    rows: Mapping[str, tuple[str, frozenset[str]]],
    patterns: Collection[str],
    strength: float,
) -> dict[str, float]:
    """Per pattern the logarithm of its share among labelled cases, against an even share.

    counts: labelled cases per pattern. `strength` cases more are spread as the entries of the knowledge base are.
    """
    known = Counter(pattern for pattern, _ in rows.values())
    every = sum(known.values()) + len(patterns)
    cases = sum(counts.values())

    def share(pattern: str) -> float:
        return (counts.get(pattern, 0) + strength * (known[pattern] + 1) / every) / (cases + strength)

    return {pattern: round(math.log(share(pattern) * len(patterns)), _DIGITS) for pattern in patterns}
