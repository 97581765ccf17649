"""Error lines of known bugs and symptoms, found in a log in one pass.

Each signature is a regular expression. A line is reduced to its shape, the letters in lower case; of each new shape it
is seen once which signatures require no other words than it has, mostly none. Logs repeat few shapes, so most lines
cost one look into a table. Bounded in time by the length of the text, in memory by the chunk and the table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import index

_SHORTEST = 3  # letters of a word or piece that is looked for
_LONGEST_LINE = 20_000  # characters of one line that are searched
_MOST_SHAPES, _LONGEST_SHAPE = 20_000, 4_000  # kept of a log, and bytes of one
_LETTERS_AND_BLANKS = bytes(code | 32 if chr(code).isalpha() and code < 128 else 32 for code in range(256))
_LETTERS_ONLY = bytes(10 if code == 10 else blank for code, blank in enumerate(_LETTERS_AND_BLANKS))


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


def pieces_of(pattern: str) -> list[str]:
    """Pieces of text, of two characters or more, that every match of an expression contains, in lower case."""
    return sorted({literal.lower() for literal in _literals(pattern) if len(literal) > 1})


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
        self._live: dict[bytes, tuple[_Signature, ...]] = {}  # shapes of lines that may hold signatures
        self._dead: set[bytes] = set()  # and those that cannot

    def feed(self, numbers: Sequence[int], chunk: Sequence[str]) -> None:
        """A chunk of lines, none of which holds a line feed, with their numbers."""
        # On bytes, because translating a str goes character by character through a dictionary.
        text = "\n".join(chunk).encode("utf-8", "replace")
        shapes = text.translate(_LETTERS_ONLY).split(b"\n")
        if len(shapes) != len(chunk):  # a line that holds line feeds after all
            shapes = [line.encode("utf-8", "replace").translate(_LETTERS_AND_BLANKS) for line in chunk]
        unlike = set(shapes)
        self._learn([shape for shape in unlike if shape not in self._dead and shape not in self._live])
        if live := self._open(self._live.keys() & unlike, chunk):
            for place, shape in enumerate(shapes):
                if rows := live.get(shape):
                    self._search(rows, chunk[place], numbers[place])
        for shape in unlike if self._live else ():
            if len(shape) > _LONGEST_SHAPE:  # too long to be kept
                self._live.pop(shape, None)

    def _open(self, shapes: Iterable[bytes], chunk: Sequence[str]) -> dict[bytes, list[_Signature]]:
        """By shape the signatures without a hit that may stand in the chunk, after a look at it as a whole."""
        rows = {shape: self._live[shape] for shape in shapes}
        wanted = {row for found in set(rows.values()) for row in found if row.entry not in self._hits}
        text = "\n".join(chunk) if wanted else ""
        lowered = text.lower()
        there = {row for row in wanted if all(piece in lowered for piece in row.pieces) and row.may_be_in(text)}
        return {shape: kept for shape, found in rows.items() if (kept := [row for row in found if row in there])}

    def _learn(self, shapes: Sequence[bytes]) -> None:
        """See which signatures lines of new shapes may hold: first of all shapes at once, then of each."""
        if len(self._dead) + len(self._live) + len(shapes) > _MOST_SHAPES:
            self._dead.clear()
            self._live.clear()
        rows = _candidates(b"\n".join(shapes), _table()) if shapes else []
        for shape in shapes if rows else ():
            if found := tuple(row for row in rows if row.fits(shape)):
                self._live[shape] = found
        self._dead.update(shape for shape in shapes if shape not in self._live and len(shape) <= _LONGEST_SHAPE)

    def _search(self, rows: Iterable[_Signature], line: str, number: int) -> None:
        lowered = ""
        for row in rows:
            if row.entry in self._hits:
                continue
            lowered = lowered or line.lower()
            if all(piece in lowered for piece in row.pieces):
                expression = re.compile(row.pattern, re.IGNORECASE)  # kept by `re`; most are never needed
                if expression.search(line, 0, _LONGEST_LINE):
                    self._hits[row.entry] = Hit(row.entry, number, line[:_LONGEST_LINE].strip(), self._source)

    @property
    def hits(self) -> list[Hit]:
        return sorted(self._hits.values(), key=lambda hit: (hit.line, hit.entry))


@dataclass(frozen=True, slots=True, eq=False)  # one object each, so that sets of them are quick
class _Signature:
    entry: str
    pattern: str
    words: frozenset[bytes]
    pieces: tuple[str, ...]
    shape: tuple[bytes, ...]  # of the pieces, where no word is required

    def may_be_in(self, text: str) -> bool:
        """Whether a line of the text may match; what looks ahead is not asked, since it sees the line's end."""
        if "(?" in self.pattern.replace("(?:", ""):
            return True
        return re.compile(self.pattern, re.IGNORECASE | re.MULTILINE).search(text) is not None

    def fits(self, shape: bytes) -> bool:
        """Whether a text of this shape has all words, or else all pieces."""
        if not self.words:
            return all(piece in shape for piece in self.shape)
        return all(word in shape for word in self.words) and self.words <= frozenset(shape.split())


@dataclass(frozen=True, slots=True)
class _Table:
    """Signatures by one of the words that they require: the one that fewest others require."""

    by_word: dict[bytes, list[_Signature]]
    wordless: list[_Signature]


def _candidates(shape: bytes, table: _Table) -> list[_Signature]:
    """Signatures whose required words, or pieces, all stand somewhere in a text of this shape."""
    words = frozenset(shape.split())
    rows = [row for word in sorted(table.by_word.keys() & words) for row in table.by_word[word] if row.words <= words]
    return rows + [row for row in table.wordless if row.fits(shape)]


@lru_cache(maxsize=1)
def _table() -> _Table:
    rows = []
    for entry, pattern, required, pieces in index.data()["signatures"]:
        shape = tuple(piece.encode().translate(_LETTERS_AND_BLANKS) for piece in pieces)
        rows.append(_Signature(entry, pattern, frozenset(word.encode() for word in required), tuple(pieces), shape))
    counts = Counter(word for row in rows for word in row.words)
    by_word: dict[bytes, list[_Signature]] = {}
    for row in rows:
        if row.words:
            by_word.setdefault(min(row.words, key=lambda word: (counts[word], -len(word), word)), []).append(row)
    return _Table(by_word, [row for row in rows if not row.words])
