"""Terms of a text: what the words of a user, a log line or a setting are compared by.

A term is a word without its ending ("wak"), an identifier as written and in its parts ("free_cache_engine", "free",
"cach", "engin"), or a concept of the field ("@oom"), which "out of memory" and "显存不足" share
(knowledge/tables/vocabulary.yaml). Linear in the text, because documents are many and logs are long.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

_PIECE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+[a-z]*|[\u3400-\u9fff]+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_CAMEL = re.compile(r"(?<=[a-z]{2})(?=[A-Z][a-z])")  # IndexError, not LoRA
_LONGEST_FORM = 6  # words of the longest phrase that names a concept
_ENDINGS = ("ations", "ation", "ings", "ing", "ed", "es", "s", "e")
_SHORTEST_STEM = 4


class Terms:
    """Cuts texts into terms, by a vocabulary of concepts and the ways to write them."""

    def __init__(self, concepts: Mapping[str, Sequence[str]], stopwords: Iterable[str], empty: Iterable[str]) -> None:
        self._empty = frozenset(empty)
        written = {form.lower(): name for name, forms in concepts.items() for form in (name, *forms)}
        self._english = {
            tuple(re.findall(r"[a-z0-9]+", form)): name for form, name in written.items() if form.isascii()
        }
        self._starts = frozenset(words[0] for words in self._english if words)
        chinese = sorted((form for form in written if _CHINESE.search(form)), key=lambda form: (-len(form), form))
        self._chinese = re.compile("|".join(map(re.escape, chinese)) or r"(?!)")
        self._named = {form: written[form] for form in chinese}
        fillers = sorted((word for word in stopwords if _CHINESE.search(word)), key=lambda word: (-len(word), word))
        self._fillers = re.compile("|".join(map(re.escape, fillers)) or r"(?!)")

    def of(self, text: str) -> list[str]:
        """All terms of a text, with repetitions."""
        pieces = _PIECE.findall(unicodedata.normalize("NFKC", text) if not text.isascii() else text)
        found: list[str] = []
        plain: list[str] = []  # the text as single lower-case words, for phrases
        for piece in pieces:
            if _CHINESE.match(piece):
                found += self._of_chinese(piece)
                continue
            lowered = piece.lower()
            parts = [part for part in lowered.split("_") if part]
            plain += parts
            if len(parts) > 1:
                found.append(lowered.strip("_"))
            elif (camel := _CAMEL.sub(" ", piece)) != piece:
                parts += camel.lower().split()
            found += [stem(part) for part in parts if len(part) > 1 and part not in self._empty]
        found += self._concepts(plain)
        return found

    def _concepts(self, words: Sequence[str]) -> list[str]:
        """Concepts named by runs of words, the longest run first."""
        found = []
        at = 0
        while at < len(words):
            taken = 1
            if words[at] in self._starts:
                for size in range(min(_LONGEST_FORM, len(words) - at), 0, -1):
                    if name := self._english.get(tuple(words[at : at + size])):
                        found.append(f"@{name}")
                        taken = size
                        break
            at += taken
        return found

    def _of_chinese(self, run: str) -> list[str]:
        found = [f"@{self._named[form]}" for form in self._chinese.findall(run)]
        rest = self._fillers.sub(" ", self._chinese.sub(" ", run))
        return found + [piece[at : at + 2] for piece in rest.split() for at in range(max(1, len(piece) - 1))]


def as_written(text: str, wanted: Iterable[str], most: int) -> list[str]:
    """The words of a text whose stems are wanted, as the user wrote them, in the order of `wanted`."""
    written: dict[str, str] = {}
    for piece in _PIECE.findall(text):
        written.setdefault(stem(piece.lower()), piece)
    return [written[term] for term in wanted if term in written][:most]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """explodes, exploding, exploded: explod."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM - (ending == "s"):
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=1)
def terms() -> Terms:
    """By the vocabulary of knowledge/."""
    from ..store import lookup
    from . import index

    table = lookup.table("vocabulary")
    return Terms(table["concepts"], table["stopwords"], index.data()["empty_words"])
