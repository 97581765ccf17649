"""Shell patterns (`*`, `?`, `[...]`) in linear time per match, and the `${x#p}` family on values with holes.

Python's `re` is not used on patterns from a script: it can need exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .pieces import Piece, Value, compact, is_known, text_of

_EXTENDED = re.compile(r"[@?*+!]\(")
_MAX_PATTERN_WORK = 4_000_000  # characters compared for one expansion
_CLASSES = {
    "alpha": str.isalpha, "digit": str.isdigit, "alnum": str.isalnum, "upper": str.isupper, "lower": str.islower,
    "space": str.isspace, "blank": " \t".__contains__, "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".__contains__,
    "xdigit": "0123456789abcdefABCDEF".__contains__,
}  # fmt: skip
Check = Callable[[str], bool]


class Pattern(NamedTuple):
    """Tokens: a literal character, None for `*`, or a check of one character (`?`, `[...]`)."""

    tokens: tuple[str | Check | None, ...]
    undecidable: bool = False  # extended globs: what they match is not worked out

    @property
    def literal(self) -> str | None:
        texts = [token for token in self.tokens if isinstance(token, str)]
        return "".join(texts) if len(texts) == len(self.tokens) else None


def _any_character(_: str) -> bool:
    return True


def compile_pattern(pieces: Sequence[tuple[str, bool]]) -> Pattern:
    """`pieces` are (text, quoted); quoted text stands for itself."""
    tokens: list[str | Check | None] = []
    for text, quoted in pieces:
        if quoted:
            tokens += text
            continue
        if _EXTENDED.search(text):
            return Pattern((), True)
        at = 0
        while at < len(text):
            char = text[at]
            at += 1
            if char == "*":
                if not tokens or tokens[-1] is not None:
                    tokens.append(None)
            elif char == "?":
                tokens.append(_any_character)
            elif char == "[":
                token, at = _bracket(text, at)
                tokens.append(token)
            elif char == "\\" and at < len(text):
                tokens.append(text[at])
                at += 1
            else:
                tokens.append(char)
    return Pattern(tuple(tokens))


def _bracket(text: str, start: int) -> tuple[str | Check, int]:
    at = start
    negated = text.startswith(("!", "^"), at)
    at += negated
    first = at
    checks: list[Check] = []
    while at < len(text):
        char = text[at]
        if char == "]" and at > first:
            break
        named = re.compile(r"\[:(\w+):\]").match(text, at)
        if named is not None and named.group(1) in _CLASSES:
            checks.append(_CLASSES[named.group(1)])
            at = named.end()
        elif text[at + 1 : at + 2] == "-" and text[at + 2 : at + 3] not in ("", "]"):
            checks.append(_between(char, text[at + 2]))
            at += 3
        else:
            checks.append(char.__eq__)
            at += 1
    else:
        return "[", start  # never closed: an ordinary character
    return (lambda candidate: any(check(candidate) for check in checks) is not negated), at + 1


def _between(low: str, high: str) -> Check:
    return lambda candidate: low <= candidate <= high


def _fits(token: str | Check | None, char: str) -> bool:
    return token == char if isinstance(token, str) else token is not None and token(char)


def matches(pattern: Pattern, text: str) -> bool:
    """Whether the whole text matches; goes back to the last `*` only, so the work is at most len * len."""
    tokens = pattern.tokens
    at = token_at = 0
    star = -1
    star_text = 0
    while at < len(text):
        if token_at < len(tokens) and tokens[token_at] is None:
            star, star_text = token_at, at
            token_at += 1
        elif token_at < len(tokens) and _fits(tokens[token_at], text[at]):
            token_at += 1
            at += 1
        elif star >= 0:
            star_text += 1
            at, token_at = star_text, star + 1
        else:
            return False
    return all(token is None for token in tokens[token_at:])


def _affordable(pattern: Pattern, text: str, matches_tried: int) -> bool:
    return matches_tried * max(1, len(text)) * max(1, tokens_with_star(pattern)) <= _MAX_PATTERN_WORK


def tokens_with_star(pattern: Pattern) -> int:
    return len(pattern.tokens) if None in pattern.tokens else 1


def remove(value: Value, pattern: Pattern, op: str) -> Value | None:
    """`${x#p}`, `##`, `%`, `%%`. None when a hole decides the result."""
    if pattern.undecidable:
        return None
    if not is_known(value):
        return _remove_beside_holes(value, pattern, op)
    text = text_of(value)
    literal = pattern.literal
    if literal is not None:
        text = text.removeprefix(literal) if op[0] == "#" else text.removesuffix(literal)
    else:
        if not _affordable(pattern, text, len(text)):
            return None
        cut = _cut(text, pattern, op)
        if cut is not None:
            text = text[cut:] if op[0] == "#" else text[:cut]
    return (Piece(text, value[0].line, value[0].file),) if value else ()


def _cut(text: str, pattern: Pattern, op: str) -> int | None:
    size = len(text)
    if op == "#":
        return next((end for end in range(size + 1) if matches(pattern, text[:end])), None)
    if op == "##":
        return next((end for end in range(size, -1, -1) if matches(pattern, text[:end])), None)
    if op == "%":
        return next((start for start in range(size, -1, -1) if matches(pattern, text[start:])), None)
    return next((start for start in range(size + 1) if matches(pattern, text[start:])), None)


def _remove_beside_holes(value: Value, pattern: Pattern, op: str) -> Value | None:
    """The three forms that a known end decides: `##*<text>`, `%<text>*` and a literal at a known end."""
    value = compact(value)
    first, last = value[0], value[-1]
    literal = pattern.literal
    if literal is not None:
        end = last if op[0] == "%" else first
        if end.names or len(end.text) < len(literal):
            return None
        if op[0] == "%":
            return (*value[:-1], end._replace(text=end.text.removesuffix(literal)))
        return (end._replace(text=end.text.removeprefix(literal)), *value[1:])
    if last.names:
        return None
    if op == "##" and pattern.tokens[0] is None:
        needle = Pattern(pattern.tokens[1:]).literal
        if needle and needle in last.text:
            return (last._replace(text=last.text[last.text.rfind(needle) + len(needle) :]),)
    if op == "%" and pattern.tokens[-1] is None:
        needle = Pattern(pattern.tokens[:-1]).literal
        if needle and needle in last.text:
            return (*value[:-1], last._replace(text=last.text[: last.text.rfind(needle)]))
    return None


def replace(text: str, pattern: Pattern, replacement: str, op: str) -> str | None:
    """`${x/p/r}`, `//`, `/#`, `/%` on known text; None when the work would be too much."""
    if pattern.undecidable:
        return None
    literal = pattern.literal
    if literal == "":
        return replacement + text if op == "/#" else text + replacement if op == "/%" else text
    if literal is not None:
        if op == "/#":
            return replacement + text[len(literal) :] if text.startswith(literal) else text
        if op == "/%":
            return text[: -len(literal)] + replacement if text.endswith(literal) else text
        return text.replace(literal, replacement, -1 if op == "//" else 1)
    if not _affordable(pattern, text, len(text) * len(text)):
        return None
    if op == "/#":
        cut = _cut(text, pattern, "##")
        return text if cut is None else replacement + text[cut:]
    if op == "/%":
        cut = _cut(text, pattern, "%%")
        return text if cut is None else text[:cut] + replacement
    return _replace_longest(text, pattern, replacement, everywhere=op == "//")


def _replace_longest(text: str, pattern: Pattern, replacement: str, everywhere: bool) -> str:
    result: list[str] = []
    at = 0
    while at < len(text):
        stop = next((end for end in range(len(text), at, -1) if matches(pattern, text[at:end])), None)
        if stop is None:
            result.append(text[at])
            at += 1
            continue
        result.append(replacement)
        at = stop
        if not everywhere:
            break
    return "".join(result) + text[at:]
