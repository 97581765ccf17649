"""Misspelt words of a query, replaced by the nearest word that the phrasebook knows."""

from __future__ import annotations

from collections.abc import Collection

_SHORTEST = 3  # letters; below that every word is near to another
_LONG = 5  # letters from which on the first one may be wrong too


def corrected(word: str, known: Collection[str]) -> tuple[list[str], float]:
    """What a word probably means, and how sure that is: "graident" is gradient, "gradnorm" is grad and norm.

    A word that nothing is near to stays as it is. Of equally near words the first of the alphabet is taken.
    """
    if word in known or len(word) < _SHORTEST or any(letter.isdigit() for letter in word):
        return [word], 1.0
    if parts := _split(word, known):
        return parts, 1.0
    return _nearest(word, known)


def _split(word: str, known: Collection[str]) -> list[str]:
    """Two words written as one."""
    for at in range(_SHORTEST, len(word) - _SHORTEST + 1):
        if word[:at] in known and word[at:] in known:
            return [word[:at], word[at:]]
    return []


def _nearest(word: str, known: Collection[str]) -> tuple[list[str], float]:
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    allowed = 1 if len(word) < 8 else 2
    near = process.extract(word, sorted(known), scorer=OSA.distance, score_cutoff=allowed, limit=None)
    near = [match for match in near if _may_be(word, match[0])]
    if not near:
        return [word], 1.0
    meant, distance, _ = min(near, key=lambda match: (match[1], match[0][:1] != word[:1], match[0]))
    return [meant], 1 - distance / len(word)


def _may_be(word: str, meant: str) -> bool:
    """A short word may have lost or doubled a letter, not become another: "los" is loss, "bake" is not wake."""
    if len(word) >= _LONG:
        return True
    if len(meant) == _SHORTEST:
        return len(word) > len(meant) and set(word) == set(meant)
    return word[0] == meant[0]
