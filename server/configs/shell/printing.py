"""The text that `printf` and `echo -e` produce."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .pieces import Piece, Value, is_known, text_of

_DIRECTIVE = re.compile(r"%([-+ 0#]*)(\*|\d{1,4})?(?:\.(\d{1,3}|\*))?([a-zA-Z%])")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "\\": "\\"}
_MAX_ROUNDS = 1_000  # printf repeats its format as long as arguments are left


def backslashes(text: str) -> str:
    """Text with the escapes of `echo -e` and of a printf format replaced."""
    return _ESCAPE.sub(_escape, text) if "\\" in text else text


def _escape(found: re.Match[str]) -> str:
    body = found.group()[1:]
    if body[0] == "x" and len(body) > 1:
        return chr(int(body[1:], 16))
    if body[0] in "01234567":
        return chr(int(body, 8) & 0xFF)
    return _LETTERS.get(body, found.group() if body not in "\"'" else body)


def formatted(template: Value, arguments: Sequence[Value], line: int, file: str) -> Value | None:
    """What `printf template arguments...` prints; None when a directive is not understood or decides a hole."""
    text = text_of(template)
    directives = list(_DIRECTIVE.finditer(text))
    waiting = list(arguments)
    result: list[Piece] = []
    for _ in range(_MAX_ROUNDS):
        at = 0
        before = len(waiting)
        for found in directives:
            result.append(Piece(backslashes(text[at : found.start()]), line, file))
            at = found.end()
            printed = _directive(found, waiting, line, file)
            if printed is None:
                return None
            result += printed
        result.append(Piece(backslashes(text[at:]), line, file))
        if not waiting or len(waiting) == before:
            break
    return tuple(piece for piece in result if piece.text)


def _directive(found: re.Match[str], waiting: list[Value], line: int, file: str) -> Value | None:
    flags, width, precision, letter = found.groups()
    if letter == "%":
        return (Piece("%", line, file),)
    if "*" in (width, precision):
        return None
    value = waiting.pop(0) if waiting else ()
    if letter in "sb" and not width and not precision:
        if letter == "b" and is_known(value):
            return (Piece(backslashes(text_of(value)), line, file),)
        return value
    if not is_known(value):
        return None
    text = text_of(value)
    layout = "%" + flags + (width or "") + (f".{precision}" if precision else "")
    try:
        if letter in "sb":
            return (Piece((layout + "s") % text, line, file),)
        if letter in "di":
            return (Piece((layout + "d") % int(text or "0"), line, file),)
        if letter in "xXo":
            return (Piece((layout + letter) % int(text or "0"), line, file),)
        if letter in "feEgG":
            return (Piece((layout + letter) % float(text or "0"), line, file),)
    except (ValueError, OverflowError):
        return None
    if letter == "q" and re.fullmatch(r"[\w@%+=:,./-]+", text):
        return value
    return None
