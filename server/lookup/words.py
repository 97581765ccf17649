"""Words of a text, English and Chinese, in one form: what users write is compared as sets of these.

"Grad-norm explodes", "gradient norm exploded" and "梯度范数爆炸" give the same words, by a vocabulary of the field that
is data (knowledge/tables/vocabulary.yaml) and a light stemming of English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

MAX_CHARS = 2_000  # of a query; the rest of a pasted log says nothing more
_PIECE = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ENDINGS = ("ings", "ing", "ed", "es", "s", "e")
_SHORTEST_STEM = 4

Sides = tuple[frozenset[str], ...]


class Vocabulary:
    """The words of the field: each concept and the ways to write it, and what is known of how they go together."""

    def __init__(
        self,
        concepts: Mapping[str, Sequence[str]],
        stopwords: Iterable[str],
        decisive: Iterable[str] = (),
        overshadowed: Mapping[str, Sequence[str]] | None = None,
        contrary: Iterable[Sequence[str]] = (),
    ) -> None:
        self.decisive = frozenset(decisive)
        self._contrary = [{word: group for group in line for word in group.split("|")} for line in contrary]
        self._overshadowed = {word: frozenset(others) for word, others in (overshadowed or {}).items()}
        written = {flat(form): concept for concept, forms in concepts.items() for form in (concept, *forms)}
        self._concept = {form: concept for form, concept in written.items() if form}
        self._names = frozenset(self._concept.values())
        self._stop = frozenset(map(flat, stopwords))
        longest_first = sorted(self._concept, key=lambda form: (-len(form), form))
        self._forms = re.compile("|".join(_bounded(form) for form in longest_first) or r"(?!)")
        self._fillers = sorted(
            (word for word in self._stop if _CHINESE.search(word)), key=lambda word: (-len(word), word)
        )
        self.surface = frozenset(
            word for form in (*self._concept, *self._stop) for word in form.split() if word.isascii()
        )

    def words(self, text: str) -> list[str]:
        """The words of a text in order, without those that say nothing; Chinese outside the vocabulary in pairs."""
        named = self._forms.sub(lambda match: f" {self._concept[match[0]]} ", flat(text))
        for filler in self._fillers:
            named = named.replace(filler, " ")
        found: list[str] = []
        for piece in _PIECE.findall(named):
            if piece in self._names:
                found.append(piece)
            elif _CHINESE.match(piece):
                found += _pairs(piece)
            elif piece not in self._stop:
                found.append(stem(piece))
        return [word for word in found if not self._overshadowed.get(word, frozenset()).intersection(found)]

    def sides(self, words: Collection[str]) -> Sides:
        """What a text says on each line of words that exclude each other."""
        return tuple(frozenset(line[word] for word in words if word in line) for line in self._contrary)


def contradictions(ours: Sides, theirs: Sides) -> int:
    """In how many ways two texts exclude each other: one of a hang, the other of an out-of-memory."""
    return sum(bool(one and other and not one & other) for one, other in zip(ours, theirs, strict=True))


def flat(text: str) -> str:
    """Lower case, one width, no punctuation, single spaces."""
    lowered = unicodedata.normalize("NFKC", text[:MAX_CHARS]).lower().replace("'", "")
    return " ".join(_PIECE.findall(lowered))


def latin_words(text: str) -> list[str]:
    """The English words of a text, as written."""
    return [piece for piece in flat(text).split() if piece.isascii()]


def stem(word: str) -> str:
    """explodes, exploding, exploded: explod."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM - (ending == "s"):
            return word[: -len(ending)]
    return word


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _bounded(form: str) -> str:
    before = r"(?<![a-z0-9])" if form[0].isascii() else ""
    after = r"(?![a-z0-9])" if form[-1].isascii() else ""
    return before + re.escape(form).replace(r"\ ", " ") + after
