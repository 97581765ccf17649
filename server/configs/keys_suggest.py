"""Similar names for an unknown key. The last part of a dotted key says what is meant; the path before it less so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..limits import MAX_SUGGESTIONS

_CUTOFF = 76.0  # below this the names have little in common
_LAST_PART = 0.65  # weight of the last part against the whole key
_BEST = 12.0  # a name this far behind the best one is no rival
_MAX_CHARS = 200


def suggest(key: str, candidates: Sequence[str]) -> list[str]:
    """At most `limits.MAX_SUGGESTIONS` of the candidates that look like the key, best first."""
    from rapidfuzz import fuzz

    key = key[:_MAX_CHARS].strip("-").lower()
    if not key:
        return []
    last = key.rpartition(".")[2]
    scored: list[tuple[float, str]] = []
    for candidate in candidates:
        name = candidate.lower()
        score = (1 - _LAST_PART) * fuzz.ratio(key, name) + _LAST_PART * fuzz.ratio(last, name.rpartition(".")[2])
        if name.endswith("." + key):  # a section in front is missing
            score = 100.0 - len(name) / 1000
        if score >= _CUTOFF:
            scored.append((-score, candidate))
    best = sorted(scored)[:MAX_SUGGESTIONS]
    return [candidate for score, candidate in best if score <= best[0][0] + _BEST]


def hint(name: str, known: Iterable[str], cutoff: int) -> str:
    """The nearest known name at or above the cutoff (0 to 100), as " (did you mean X?)"; empty when there is none."""
    from rapidfuzz import process

    match = process.extractOne(name, list(known), score_cutoff=cutoff)
    return f" (did you mean {match[0]}?)" if match else ""
