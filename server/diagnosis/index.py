"""The compiled knowledge of diagnose (knowledge/diagnosis.json): which term speaks for which entry, and how much.

An entry is "bug:verl-6782", "pattern:weights_not_synced" or "symptom:reward_flat". The weight of a term in an entry
is BM25's, computed once by scripts/build_diagnosis.py, so that a query only adds numbers.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..paths import data_dir

Data = dict[str, Any]
_K1, _B = 1.2, 0.5  # BM25: how fast repetition saturates, how much length counts
_DIGITS = 3


@lru_cache(maxsize=1)
def data() -> Data:
    """The parts: "entries", "postings", "signatures", "signs", "cues", "phrasings", "knobs"."""
    with (data_dir("knowledge") / "diagnosis.json").open(encoding="utf-8") as file:
        loaded: Data = json.load(file)
    return loaded


def compile_postings(documents: Mapping[str, Sequence[str]]) -> tuple[list[str], dict[str, list[float]]]:
    """Names of the entries, and per term a flat list: place of an entry, weight, place, weight, ..."""
    names = list(documents)
    counts = [Counter(words) for words in documents.values()]
    sizes = [len(words) for words in documents.values()]
    average = sum(sizes) / len(sizes)
    holders = Counter(term for count in counts for term in count)
    postings: dict[str, list[float]] = {}
    for place, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        for term, times in count.items():
            rarity = math.log(1 + (len(names) - holders[term] + 0.5) / (holders[term] + 0.5))
            weight = rarity * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * size / average))
            postings.setdefault(term, []).extend((place, round(weight, _DIGITS)))
    return names, dict(sorted(postings.items()))


def scores(asked: Mapping[str, float]) -> dict[str, float]:
    """How well each entry fits the terms asked for, each with its weight; entries that share none are left out."""
    names: list[str] = data()["entries"]
    found: dict[str, float] = {}
    for term in sorted(asked):  # a sum of floats depends on its order
        weights = data()["postings"].get(term, ())
        for at in range(0, len(weights), 2):
            name = names[int(weights[at])]
            found[name] = found.get(name, 0.0) + asked[term] * weights[at + 1]
    return found


def shared(name: str, asked: Iterable[str], most: int) -> list[str]:
    """The terms that an entry shares with those asked for, the weightiest first."""
    place = data()["entries"].index(name)
    rows = []
    for term in sorted(asked):
        weights = data()["postings"].get(term, ())
        rows += [(-weights[at + 1], term) for at in range(0, len(weights), 2) if weights[at] == place]
    return [term for _, term in sorted(rows)[:most]]
