"""Which entry a query means: words weighted by how much they tell, whole phrasings, and nearness of spelling.

The same query always gives the same order: no randomness, ties in the order of the entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import spelling
from .words import Sides, Vocabulary, contradictions, flat, latin_words

WEAKEST = 0.3  # below this a match is chance

_PHRASE, _ENTRY = 0.7, 0.3  # shares of the best phrasing and of all words of the entry
_QUERY_COUNTS = 2.0  # what the query says beyond a phrasing weighs more than what the phrasing says beyond the query
_SPELLED = 0.95  # a phrasing that is spelled like the query, typos and all
_DECISIVE = 1.5  # what happens (hang, out of memory) counts more than where
_CONTRARY = 0.75  # factor for a phrasing in which something else happens
_NOT_EXACT = 0.99  # the most that anything but the very phrasing scores
_UNKNOWN = 0.7  # weight of a word that no entry has, as a share of the rarest word's


@dataclass(frozen=True, slots=True)
class Match:
    """An entry, how well it fits (0 to 1), and the phrasing that fits best."""

    id: str
    score: float
    phrase: str


def compile_phrasebook(
    phrases: Mapping[str, Iterable[str]], context: Mapping[str, Iterable[str]], vocabulary: Vocabulary
) -> dict[str, Any]:
    """Plain JSON for `Phrasebook`: of each entry its phrasings with their words, and the words of its other texts."""
    said = {name: [text for text in dict.fromkeys(texts) if text] for name, texts in phrases.items()}
    known = {word for texts in said.values() for text in texts for word in latin_words(text)}
    return {
        "order": list(said),
        "phrases": {
            name: [[text, flat(text), sorted(set(vocabulary.words(text)))] for text in texts]
            for name, texts in said.items()
        },
        "context": {
            name: sorted({word for text in context.get(name, ()) for word in vocabulary.words(text)}) for name in said
        },
        "known": sorted(known | vocabulary.surface),
    }


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A phrasing, or a query, ready to be compared: its words with how sure each is, and how much they tell in all."""

    text: str
    written: str
    words: Mapping[str, float]
    weight: float
    sides: Sides


class Phrasebook:
    """Ranks the entries of a compiled phrasebook for a query."""

    def __init__(self, compiled: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._order: list[str] = compiled["order"]
        self._known = frozenset(compiled["known"])
        said: dict[str, list[tuple[str, str, list[str]]]] = compiled["phrases"]  # as said, flat, words
        own = {name: {word for _, _, words in rows for word in words} for name, rows in said.items()}
        self._words = {name: own[name] | set(compiled["context"][name]) for name in self._order}
        holders: dict[str, int] = {}
        for words in own.values():
            for word in words:
                holders[word] = holders.get(word, 0) + 1
        self._weight = {
            word: math.log(1 + len(own) / count) * (_DECISIVE if word in vocabulary.decisive else 1)
            for word, count in holders.items()
        }
        self._unknown = _UNKNOWN * math.log(1 + len(own))
        self._phrases = {
            name: [self._phrase(text, written, dict.fromkeys(words, 1.0)) for text, written, words in rows]
            for name, rows in said.items()
        }
        self._written = list(dict.fromkeys(said.written for rows in self._phrases.values() for said in rows))

    def rank(self, query: str, limit: int, raised: Mapping[str, float] | None = None) -> list[Match]:
        """The best entries, best first. `raised` adds to the score of entries that something else speaks for."""
        asked = self._meant(query)
        alike = self._spelled_alike(asked.written)
        ranked = []
        for name in self._order:
            match, spelled = self._match(name, asked, alike, (raised or {}).get(name, 0.0))
            if match.score >= WEAKEST:
                ranked.append((-match.score, -spelled, match))
        ranked.sort(key=lambda row: row[:2])
        return [match for _, _, match in ranked[:limit]]

    def _phrase(self, text: str, written: str, words: Mapping[str, float]) -> _Phrase:
        return _Phrase(text, written, words, self._total(words), self._vocabulary.sides(words))

    def _meant(self, query: str) -> _Phrase:
        """What the query means; words of misspelt text are less sure, and numbers that no entry has say nothing."""
        written = flat(query)
        pieces: list[str] = []
        doubtful: dict[str, float] = {}
        for piece in written.split():
            meant, sure = spelling.corrected(piece, self._known) if piece.isascii() else ([piece], 1.0)
            pieces += meant
            if sure < 1:
                doubtful |= dict.fromkeys(self._vocabulary.words(meant[0]), sure)
        words = self._vocabulary.words(" ".join(pieces))
        kept = {word: doubtful.get(word, 1.0) for word in words if word in self._weight or not word.isdigit()}
        return self._phrase(query, written, kept)

    def _spelled_alike(self, plain: str) -> dict[str, float]:
        """Flat phrasings that are spelled nearly like the query: half of all texts share half of their letters."""
        from rapidfuzz import fuzz, process

        near = process.extract(plain, self._written, scorer=fuzz.ratio, score_cutoff=72, limit=None)
        return {text: score / 100 for text, score, _ in near}

    def _match(
        self, name: str, asked: _Phrase, spelled_alike: Mapping[str, float], raised: float
    ) -> tuple[Match, float]:
        """The match, and how much its phrasings are spelled like the query, which decides between equal scores."""
        best, phrase, spelled = (0.0, 0.0), "", 0.0
        share = _ENTRY * self._shared(asked, self._words[name]) / asked.weight if asked.weight else 0.0
        one_sided = any(asked.sides)
        for said in self._phrases[name]:
            alike = spelled_alike.get(said.written, 0.0)
            fit = max(_PHRASE * self._fit(asked, said) + share, _SPELLED * alike)
            if fit and one_sided:
                fit *= _CONTRARY ** contradictions(asked.sides, said.sides)
            if (fit, alike) > best or not phrase:
                best, phrase = (fit, alike), said.text
            spelled = max(spelled, alike)
        score = 1.0 if spelled == 1.0 else min(_NOT_EXACT, best[0] + raised)
        return Match(name, round(score, 3), phrase), spelled

    def _fit(self, asked: _Phrase, said: _Phrase) -> float:
        """F measure of the shared words' weight over the query's and the phrasing's."""
        if asked.words.keys().isdisjoint(said.words):
            return 0.0
        return (1 + _QUERY_COUNTS) * self._shared(asked, said.words) / (_QUERY_COUNTS * asked.weight + said.weight)

    def _shared(self, asked: _Phrase, words: Iterable[str]) -> float:
        sure = asked.words
        return sum(sorted(sure[word] * self._weight.get(word, self._unknown) for word in words if word in sure))

    def _total(self, words: Iterable[str]) -> float:
        # Sorted, because a sum of floats depends on its order, and a set's order on the process.
        return sum(sorted(self._weight.get(word, self._unknown) for word in words))
