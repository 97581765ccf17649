"""Misspelt words of a query, replaced by the nearest word that the phrasebook knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_SHORTEST = 3  # letters; below that every word is near to another


def corrected(words: Iterable[str], known: Collection[str]) -> list[str]:
    """The words with misspelt ones replaced: "graident" by gradient, "gradnorm" by grad and norm.

    A word that nothing is near to stays. Deterministic: of equally near words the first of the alphabet.
    """
    found: list[str] = []
    for word in words:
        if word in known or len(word) < _SHORTEST or any(letter.isdigit() for letter in word):
            found.append(word)
        else:
            found += _split(word, known) or [_nearest(word, known)]
    return found


def _split(word: str, known: Collection[str]) -> list[str]:
    """Two words written as one."""
    for at in range(_SHORTEST, len(word) - _SHORTEST + 1):
        if word[:at] in known and word[at:] in known:
            return [word[:at], word[at:]]
    return []


def _nearest(word: str, known: Collection[str]) -> str:
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    allowed = 1 if len(word) < 7 else 2
    near = process.extract(word, sorted(known), scorer=OSA.distance, score_cutoff=allowed, limit=None)
    near = [match for match in near if _may_be(word, match[0])]
    return min(near, key=lambda match: (match[1], match[0][:1] != word[:1], match[0]))[0] if near else word


def _may_be(word: str, meant: str) -> bool:
    """A short word may have lost a letter, not turned into another short word: "los" is loss, "bug" is not big."""
    return len(meant) >= 4 and (len(word) > 3 or meant[0] == word[0])
