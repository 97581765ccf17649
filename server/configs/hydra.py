"""Command-line words as Hydra and OmegaConf read them, by Hydra's own grammar but without Hydra.

`interpolate` and `compose` (the other two halves of Hydra) live in modules of their own and can be imported from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..limits import MAX_DEPTH, MAX_LINE_CHARS
from .compose import ComposedDocument, ProjectLoader, compose
from .files import clean, printable
from .interpolation import MISSING, interpolate, spans
from .values import Entry, InputError, Lint, Unresolved, Word
from .yaml_text import parse_value

__all__ = [
    "ComposedDocument",
    "Override",
    "ProjectLoader",
    "compose",
    "interpolate",
    "parse_omegaconf_cli",
    "parse_override",
    "read_overrides",
]


@dataclass(frozen=True, slots=True)
class Override:
    """One command-line word as Hydra (or OmegaConf.from_cli) reads it.

    key: as written without prefix, `group@package` included. value: Python value or `Unresolved`; None for `~key`.
    problem: why the framework refuses the word, or a warning about it; `rule` names the lint, `severity` its weight.
    """

    key: str
    value: Any
    op: str = ""
    text: str = ""
    rule: str = ""
    problem: str = ""
    severity: str = "error"

    @property
    def package(self) -> str | None:
        """The part after `@`, None if there is none."""
        return self.key.partition("@")[2] if "@" in self.key else None


# Key: dotted path, or group with slashes; a name may hold `$` and `-`, a number may stand inside a path.
_NAME = r"[A-Za-z_$][A-Za-z0-9_$-]*"
_PART = rf"(?:{_NAME}|0|[1-9](?:_?[0-9])*)"
_PACKAGE = rf"(?:{_PART}(?:\.{_PART})+|{_NAME})?"
_GROUP = r"[A-Za-z_][A-Za-z0-9_-]*(?:/[A-Za-z_][A-Za-z0-9_-]*)+"
_HEAD = re.compile(rf"(\+\+?|~|)((?:{_GROUP}|{_PACKAGE})(?:@{_PACKAGE})?)(?:=[ \t]*|\Z)")

# Tokens of a value. Hydra's lexer takes the longest match; in this order the first match is the longest one
# (blanks belong to the punctuation after them; `inf` counts only where no longer word starts).
_UNSIGNED = r"(?:0|[1-9](?:_?[0-9])*)"
_POINT = rf"(?:{_UNSIGNED}?\.[0-9](?:_?[0-9])*|{_UNSIGNED}\.)"
_WORD_ENDS = r"(?![A-Za-z0-9_-])"
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<open>[ \t]*\([ \t]*)",
            r"(?P<comma>[ \t]*,[ \t]*)",
            r"(?P<close>[ \t]*\))",
            r"(?P<list_open>\[[ \t]*)",
            r"(?P<list_close>[ \t]*\])",
            r"(?P<dict_open>\{[ \t]*)",
            r"(?P<dict_close>[ \t]*\})",
            r"(?P<colon>[ \t]*:[ \t]*)",
            r"(?P<equal>[ \t]*=[ \t]*)",
            rf"(?P<float>[+-]?(?:(?:{_POINT}|{_UNSIGNED})[eE][+-]?[0-9](?:_?[0-9])*|{_POINT})"
            rf"|[+-](?:[Ii][Nn][Ff]|[Nn][Aa][Nn])|(?:[Ii][Nn][Ff]|[Nn][Aa][Nn]){_WORD_ENDS})",
            rf"(?P<int>[+-]?{_UNSIGNED})",
            r"(?P<id>[A-Za-z_][A-Za-z0-9_-]*)",
            r"(?P<escape>(?:\\[\\()\[\]{}:=, \t])+)",
            r"(?P<interpolation>\$\{[^}]{1,2000}\})",
            r"(?P<other>[/\-\\+.$%*@?|])",
            r"(?P<blank>[ \t]+)",
            r"(?P<quoted>\"(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)\"|'(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)')",
        )
    ),
    re.DOTALL,
)

_PRIMITIVE = frozenset(("id", "int", "float", "interpolation", "other", "colon", "escape", "blank"))
_KEY_PRIMITIVE = _PRIMITIVE - {"colon", "interpolation"}
_CASTS = frozenset(("int", "float", "str", "bool"))
_SWEEPS = frozenset(("choice", "range", "interval", "glob", "sort", "shuffle", "tag"))
_ESCAPED_QUOTE = {"'": re.compile(r"\\+'"), '"': re.compile(r'\\+"')}

# The usual words, decided by one match: names, paths without special characters, numbers.
_PLAIN_WORD = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*|-?(?:0|[1-9][0-9]{0,300})")
_SPECIAL_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "inf": float("inf"), "nan": float("nan")}


def parse_override(text: str, unknown: tuple[str, ...] = ()) -> Override:
    """Parse one Hydra override word: `key=v`, `+key=v`, `++key=v`, `~key`, `group@package=v`.

    In: the word after the shell is done with it; `unknown` names what the shell could not decide inside it, which
    makes the whole value `Unresolved`. Out: an `Override`; what Hydra refuses has `problem` set, nothing is raised.
    `null` is None, `None` is the word "None", `${...}` and `???` are `Unresolved`, `a,b` is a sweep (`Unresolved`).
    """
    if len(text) > MAX_LINE_CHARS:
        return Override("", None, "", printable(text), "hydra-syntax", "longer than any override")
    head = _HEAD.match(text)
    if head is None:
        return _refused_head(text)
    op, key = head[1], head[2]
    if head.end() == len(text) and not text.rstrip(" \t").endswith("="):
        if op == "~":
            return Override(key, None, op, text)
        return Override(key, None, op, text, "hydra-syntax", f"`{printable(text, 60)}` has no `=`")
    value_text = text[head.end() :]
    if unknown:
        if any(name in key for name in unknown if name) and "$" in key:
            problem = f"the key `{printable(key, 60)}` depends on {', '.join(map(printable, unknown))}"
            return Override(key, Unresolved(value_text, unknown), op, text, "hydra-key-unknown", problem, "info")
        return Override(key, Unresolved(value_text, unknown), op, text)
    try:
        return _override(key, op, text, clean(value_text))
    except _Refused as refusal:
        problem = f"Hydra cannot parse `{printable(text, 80)}`: {refusal}"
        return Override(key, Unresolved(value_text), op, text, "hydra-syntax", problem)


def parse_omegaconf_cli(text: str, unknown: tuple[str, ...] = ()) -> Override:
    """Parse one word as `OmegaConf.from_cli` does (EasyR1, SkyRL). NeMo-RL and AReaL use Hydra's grammar instead.

    It differs from Hydra: there are no prefixes and no sweeps, the value is YAML (`yes` is True, `010` is 8,
    `a,b` is text, nothing after `=` is None), and a word without `=` sets the key to None.
    """
    key, equals, value_text = text.partition("=")
    if len(text) > MAX_LINE_CHARS:
        return Override("", None, "", printable(text), "omegaconf-syntax", "longer than any override")
    if unknown:
        return Override(key, Unresolved(value_text, unknown), "", text)
    if not equals:
        return Override(key, None, "", text)
    try:
        value = parse_value(value_text)
    except InputError as error:
        problem = f"OmegaConf cannot parse `{printable(text, 80)}`: {str(error).partition('broken YAML, ')[2] or error}"
        return Override(key, Unresolved(value_text), "", text, "omegaconf-syntax", problem)
    return Override(key, _mark_unresolved(value, value_text, key), "", text)


def read_overrides(words: Iterable[Word], *, omegaconf: bool = False) -> tuple[list[Entry], list[Lint]]:
    """Entries and lints of the override words of one command, in order (a later word wins)."""
    parse = parse_omegaconf_cli if omegaconf else parse_override
    entries: list[Entry] = []
    lints: list[Lint] = []
    for word in words:
        override = parse(word.text, word.unknown)
        if override.problem:
            lints.append(Lint(override.rule, override.problem, word.file, word.line, override.severity))
        if "=" in word.text or not override.problem:
            text = printable(word.text.partition("=")[2])
            entries.append(Entry(override.key, override.value, word.file, word.line, override.op, text))
    return entries, lints


class _Refused(Exception):
    """Hydra's grammar refuses the text; the message says why."""


def _refused_head(text: str) -> Override:
    key, equals, value = text.partition("=")
    cause = "the key has characters that a Hydra key cannot have" if equals else "there is no `key=value`"
    problem = f"Hydra cannot parse `{printable(text, 80)}`: {cause}"
    stripped = key.lstrip("+~")
    return Override(stripped, Unresolved(value), key[: len(key) - len(stripped)], text, "hydra-syntax", problem)


def _override(key: str, op: str, text: str, value_text: str) -> Override:
    if _PLAIN_WORD.fullmatch(value_text):
        return Override(key, _plain_word(value_text), op, text)
    if not value_text:
        return Override(key, "", op, text)
    parsed = _Value(value_text)
    elements = parsed.read()
    if len(elements) > 1 or parsed.sweep:
        problem = f"`{printable(text, 80)}` is a sweep: Hydra refuses it without --multirun; a list is written [a,b]"
        return Override(key, Unresolved(value_text), op, text, "hydra-sweep", problem, "warning")
    return Override(key, _mark_unresolved(elements[0], value_text, key), op, text)


def _plain_word(word: str) -> Any:
    if word[0] in "-0123456789":
        return int(word)
    lowered = word.lower() if len(word) <= 5 else ""
    return _SPECIAL_WORDS.get(lowered, word)


def _mark_unresolved(value: Any, text: str, key: str) -> Any:
    """`Unresolved` in place of a value that holds an interpolation or the mark for "must be given"."""
    if isinstance(value, str) and value == MISSING:
        return Unresolved(MISSING, (key,))
    names = tuple(dict.fromkeys(_interpolations_in(value)))
    if not names:
        return value
    return Unresolved(value if isinstance(value, str) else text, names)


def _interpolations_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if "${" in value:
            yield from (value[start:end] for start, end in spans(value))
    elif isinstance(value, dict):
        for child in value.values():
            yield from _interpolations_in(child)
    elif isinstance(value, list):
        for child in value:
            yield from _interpolations_in(child)


class _Value:
    """Recursive descent over the tokens of one value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0
        self.sweep = False

    def read(self) -> list[Any]:
        elements = [self._element(0)]
        while self._kind() == "comma":
            self.at += 1
            elements.append(self._element(0))
        if self.at < len(self.tokens):
            raise _Refused(f"`{printable(self.tokens[self.at][1].strip(), 20)}` does not belong there; quote the value")
        return elements

    def _kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _element(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise _Refused(f"nested deeper than {MAX_DEPTH} levels")
        kind = self._kind()
        if kind == "list_open":
            return self._list(depth)
        if kind == "dict_open":
            return self._dict(depth)
        if kind == "id" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] == "open":
            return self._function(depth)
        if kind == "quoted":
            self.at += 1
            return _unquote(self.tokens[self.at - 1][1])
        return self._primitive(_PRIMITIVE)

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        if self._kind() != "list_close":
            items.append(self._element(depth + 1))
            while self._kind() == "comma":
                self.at += 1
                items.append(self._element(depth + 1))
        self._expect("list_close", "]")
        return items

    def _dict(self, depth: int) -> dict[Any, Any]:
        self.at += 1
        items: dict[Any, Any] = {}
        if self._kind() != "dict_close":
            while True:
                key = self._primitive(_KEY_PRIMITIVE)
                self._expect("colon", ":")
                items[key] = self._element(depth + 1)
                if self._kind() != "comma":
                    break
                self.at += 1
        self._expect("dict_close", "}")
        return items

    def _function(self, depth: int) -> Any:
        name = self.tokens[self.at][1]
        self.at += 2
        arguments: list[Any] = []
        named = False
        if self._kind() != "close":
            while True:
                if self._kind() == "id" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] == "equal":
                    named = True
                    self.at += 2
                arguments.append(self._element(depth + 1))
                if self._kind() != "comma":
                    break
                self.at += 1
        self._expect("close", ")")
        if name in _SWEEPS:
            self.sweep = True
            return None
        if name not in _CASTS:
            raise _Refused(f"`{printable(name, 30)}` is no function of Hydra; quote the value")
        if named or len(arguments) != 1:
            self.sweep = True  # a cast of several values is a sweep
            return None
        return _cast(name, arguments[0])

    def _expect(self, kind: str, sign: str) -> None:
        if self._kind() != kind:
            found = self.tokens[self.at][1].strip() if self.at < len(self.tokens) else ""
            shown = f"`{printable(found, 20)}`" if found else "the end"
            raise _Refused(f"expected `{sign}`, found {shown}")
        self.at += 1

    def _primitive(self, allowed: frozenset[str]) -> Any:
        start = self.at
        while self.at < len(self.tokens) and self.tokens[self.at][0] in allowed:
            self.at += 1
        tokens = self.tokens[start : self.at]
        if not tokens:
            found = self.tokens[self.at][1].strip() if self.at < len(self.tokens) else ""
            raise _Refused(f"unexpected `{printable(found, 20)}`" if found else "a value is missing at the end")
        if tokens[0][0] == "blank":
            tokens = tokens[1:]
            if not tokens:
                raise _Refused("a value of blanks only; quote it")
        if tokens[-1][0] == "blank":
            tokens = tokens[:-1]
        if len(tokens) > 1:
            return "".join(text[1::2] if kind == "escape" else text for kind, text in tokens)
        return _single(*tokens[0])


def _single(kind: str, text: str) -> Any:
    if kind == "int":
        return int(text) if len(text) <= MAX_DEPTH * 10 else text
    if kind == "float":
        return float(text)
    if kind == "id":
        lowered = text.lower()
        return _SPECIAL_WORDS[lowered] if lowered in ("true", "false", "null") else text
    return text[1::2] if kind == "escape" else text


def _cast(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_cast(name, item) for item in value]
    if isinstance(value, dict):
        return {key: _cast(name, item) for key, item in value.items()}
    if name == "str":
        return str(value).lower() if isinstance(value, bool) else str(value)
    try:
        if name == "bool":
            if isinstance(value, str):
                return {"true": True, "false": False}[value.lower()]
            return bool(value)
        return int(value) if name == "int" else float(value)
    except (KeyError, ValueError, TypeError, OverflowError):
        raise _Refused(f"{name}({printable(value, 40)}) has no value") from None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _Refused(f"the character `{printable(text[at])}` must be quoted")
        yield str(match.lastgroup), match[0]
        at = match.end()


def _unquote(text: str) -> str:
    r"""Backslashes count only before a quote: there `\\` is one backslash and `\'` the quote itself."""
    body = text[1:]
    parts: list[str] = []
    last = 0
    for match in _ESCAPED_QUOTE[text[0]].finditer(body):
        parts += (body[last : match.start()], match[0][1::2])
        last = match.end()
    return "".join(parts) + body[last:-1]
