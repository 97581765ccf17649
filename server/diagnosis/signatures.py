"""Error lines of known bugs and symptoms, found in a log in one pass.

Each signature is a regular expression. Most chunks of a log hold none of them, so a chunk is first reduced to the
set of its words; only signatures all of whose required words are there are searched for. Bounded in time by the length
of the text, in memory by the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import index

_SHORTEST = 3  # letters of a word or piece that is looked for
_LONGEST_LINE = 20_000  # characters of one line that are searched
_LETTERS_ONLY = bytes(code | 32 if chr(code).isalpha() and code < 128 else 32 for code in range(256))


@dataclass(frozen=True, slots=True)
class Hit:
    """An error line of an entry ("bug:verl-6782" or "symptom:oom") in a text."""

    entry: str
    line: int  # from 1
    text: str
    source: str = "log"  # log | words


def compile_signature(pattern: str) -> tuple[list[str], list[str]]:
    """What every match of an expression contains, in lower case: whole words (letters only), and pieces of text."""
    words: set[str] = set()
    pieces: set[str] = set()
    for literal in _literals(pattern):
        inner = re.split(r"[^A-Za-z]+", literal)
        # A word at the border of the literal may be part of a longer word of the log.
        words.update(word.lower() for word in inner[1:-1] if len(word) >= _SHORTEST)
        pieces.update([literal.lower()] if len(literal) >= _SHORTEST else [])
    return sorted(words), sorted(pieces)


def _literals(pattern: str) -> Iterator[str]:
    """Runs of literal characters of the top level of an expression; [nN] is a literal, since case does not count."""
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]

    run = ""
    for code, argument in parser.parse(pattern):
        letters = {chr(item).lower() for kind, item in argument if kind is codes.LITERAL} if code is codes.IN else set()
        if code is codes.LITERAL:
            run += chr(argument)
        elif len(letters) == 1 and all(kind is codes.LITERAL for kind, _ in argument):
            run += letters.pop()
        else:
            yield run
            run = ""
    yield run


def find(lines: Iterable[str], source: str = "log") -> list[Hit]:
    """The first hit of each signature in the lines of a short text."""
    scan = Scan(source)
    numbered = list(lines)
    scan.feed(range(1, len(numbered) + 1), numbered)
    return scan.hits


class Scan:
    """Takes a text chunk by chunk and keeps the first hit of each signature."""

    def __init__(self, source: str = "log") -> None:
        self._source = source
        self._hits: dict[str, Hit] = {}

    def feed(self, numbers: Sequence[int], chunk: Sequence[str]) -> None:
        """A chunk of lines with their numbers."""
        text = "\n".join(chunk).lower()
        # On bytes, because translating a str goes character by character through a dictionary.
        words = frozenset(text.encode("utf-8", "replace").translate(_LETTERS_ONLY).split())
        for entry, pattern, required, pieces in _signatures():
            if entry in self._hits or not required <= words or not all(piece in text for piece in pieces):
                continue
            expression = re.compile(pattern, re.IGNORECASE)  # kept by `re`; most are never needed
            for number, line in zip(numbers, chunk, strict=True):
                if expression.search(line, 0, _LONGEST_LINE):
                    self._hits[entry] = Hit(entry, number, line[:_LONGEST_LINE].strip(), self._source)
                    break

    @property
    def hits(self) -> list[Hit]:
        return sorted(self._hits.values(), key=lambda hit: (hit.line, hit.entry))


@lru_cache(maxsize=1)
def _signatures() -> list[tuple[str, str, frozenset[bytes], list[str]]]:
    return [
        (entry, pattern, frozenset(word.encode() for word in required), pieces)
        for entry, pattern, required, pieces in index.data()["signatures"]
    ]
