"""Shell values with holes: text as far as it is known, and named gaps where it is not.

A value is a tuple of pieces. Each piece remembers the line it was written on, so that a flag inside a string
variable is reported where it stands and not where the variable is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias


class Piece(NamedTuple):
    """`names` is empty for known text; otherwise `text` is a placeholder and `names` say what would decide it."""

    text: str
    line: int
    file: str
    names: tuple[str, ...] = ()


Value: TypeAlias = tuple[Piece, ...]
EMPTY: Value = ()
MAX_PIECES = 400  # a value of more pieces is joined; only line numbers get coarser


class Field(NamedTuple):
    """One word after expansion. `spread` says that an unknown part may stand for any number of words."""

    value: Value
    line: int
    file: str
    spread: bool = False


def text_of(value: Value) -> str:
    return value[0].text if len(value) == 1 else "".join([piece.text for piece in value])


def names_of(value: Value) -> tuple[str, ...]:
    """The names that would decide the value, each once; empty for a known value."""
    if len(value) == 1:
        return value[0].names
    return tuple(dict.fromkeys(name for piece in value for name in piece.names))


def is_known(value: Value) -> bool:
    if len(value) == 1:
        return not value[0].names
    return not any(piece.names for piece in value)


def has_known_text(value: Value) -> bool:
    """Whether the value is certainly not empty."""
    return any(piece.text and not piece.names for piece in value)


def known(text: str, like: Value, line: int, file: str) -> Value:
    """Known text that takes its place from `like`, or from `line` and `file`."""
    if like:
        return (Piece(text, like[0].line, like[0].file),)
    return (Piece(text, line, file),)


def join(values: Iterable[Value], separator: str) -> Value:
    result: list[Piece] = []
    for value in values:
        if result and separator:
            result.append(Piece(separator, result[-1].line, result[-1].file))
        result += value
    return tuple(result)


def compact(value: Value) -> Value:
    """The same value with neighbouring known pieces joined."""
    result: list[Piece] = []
    run: list[str] = []
    start: Piece | None = None
    for piece in value:
        if piece.names:
            if start is not None:
                result.append(Piece("".join(run), start.line, start.file))
                start = None
                run = []
            result.append(piece)
        else:
            start = start or piece
            run.append(piece.text)
    if start is not None:
        result.append(Piece("".join(run), start.line, start.file))
    return tuple(result)
