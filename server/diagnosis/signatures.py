"""Error lines of known bugs and symptoms, found in a log in one pass.

Each signature is a regular expression. Most chunks of a log hold none of them, so a chunk is first reduced to the
set of its words; only signatures all of whose required words are there are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import index

_CHUNK = 65_536  # characters; a signature does not span lines
_LONGEST_LINE = 20_000  # characters of one line that are searched
_MOST_HITS = 200
_LETTERS_ONLY = {code: " " for code in range(128) if not chr(code).isalpha()} | {
    code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)
}


@dataclass(frozen=True, slots=True)
class Hit:
    """An error line of an entry ("bug:verl-6782" or "symptom:oom") in a text."""

    entry: str
    line: int  # from 1
    text: str


def compile_signature(pattern: str) -> list[str]:
    """Words (letters, lower case) that every match of the expression contains whole; [] when none is sure."""
    words: set[str] = set()
    for literal in _literals(pattern):
        pieces = re.split(r"[^A-Za-z]+", literal)
        # A piece at the border of the literal may be part of a longer word of the log.
        words.update(piece.lower() for piece in pieces[1:-1] if len(piece) > 2)
    return sorted(words)


def _literals(pattern: str) -> Iterator[str]:
    """Runs of literal characters of the top level of an expression."""
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]

    run = ""
    for code, argument in parser.parse(pattern):
        if code is codes.LITERAL:
            run += chr(argument)
        else:
            yield run
            run = ""
    yield run


def find(lines: Iterable[str]) -> list[Hit]:
    """The first hit of each signature. Bounded in time by the length of the text, in memory by the chunk."""
    hits: dict[str, Hit] = {}
    for first, chunk in _chunks(lines):
        words = frozenset("\n".join(chunk).translate(_LETTERS_ONLY).split())
        for entry, pattern, required in _signatures():
            if entry in hits or not required <= words:
                continue
            expression = re.compile(pattern, re.IGNORECASE)  # kept by `re`; most are never needed
            for offset, line in enumerate(chunk):
                if expression.search(line):
                    hits[entry] = Hit(entry, first + offset, line.strip())
                    break
        if len(hits) >= _MOST_HITS:
            break
    return sorted(hits.values(), key=lambda hit: (hit.line, hit.entry))


def _chunks(lines: Iterable[str]) -> Iterator[tuple[int, Sequence[str]]]:
    chunk: list[str] = []
    size, first = 0, 1
    for number, line in enumerate(lines, start=1):
        chunk.append(line[:_LONGEST_LINE])
        size += len(chunk[-1])
        if size >= _CHUNK:
            yield first, chunk
            chunk, size, first = [], 0, number + 1
    if chunk:
        yield first, chunk


@lru_cache(maxsize=1)
def _signatures() -> list[tuple[str, str, frozenset[str]]]:
    return [(entry, pattern, frozenset(required)) for entry, pattern, required in index.data()["signatures"]]
