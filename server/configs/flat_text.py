"""Flat settings without structure: `zero_stage=2 | clip_grad=1.0`, separated by bars, commas or line breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..limits import MAX_NODES
from .files import checked, printable
from .values import Document, Entry, InputError, Lint
from .yaml_text import parse_value, plain_scalar

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=(?!=)(.*)", re.DOTALL)
_DOTTED_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*=(?!=)(.*)", re.DOTALL)
_OPENING = {"[": "]", "{": "}", "(": ")"}
_WORDS = {"true": True, "false": False, "yes": True, "no": False, "none": None, "null": None}
_MAX_LINTS = 20


def read_pairs(text: str, path: str) -> Document | None:
    """Read `key=value` pairs.

    In: the text and the name for messages. Out: a document whose keys are bare names and whose values are typed
    (true/false/none in any case, numbers, lists in brackets, else text); None if any part is not such a pair, so that
    another reader can try. Between bars a name may have dots; without bars dotted names are Hydra's overrides.
    Raises InputError over the caps.
    """
    text = checked(text, path)
    if "=" not in text:
        return None
    pair = _DOTTED_PAIR if "|" in text else _PAIR
    document = Document(path, "pairs", data={})
    lines: dict[str, int] = {}
    for number, part in _parts(text):
        match = pair.fullmatch(part.strip())
        if match is None:
            return None
        key, written = match[1], match[2].strip()
        if key in lines and len(document.lints) < _MAX_LINTS:
            message = f"`{printable(key, 80)}` is set twice, at lines {lines[key]} and {number}; the last one counts"
            document.lints.append(Lint("duplicate-key", message, path, number, fix="delete one of the two"))
        lines[key] = number
        document.data[key] = value = typed(written)
        document.entries.append(Entry(key, value, path, number, text=printable(written)))
        if len(document.entries) > MAX_NODES:
            raise InputError(f"{printable(path)}: more than {MAX_NODES:,} settings; no config has as many")
    return document if document.entries else None


def typed(text: str) -> Any:
    """The value of one flat setting."""
    text = text.strip()
    word = text.lower()
    if word in _WORDS:
        return _WORDS[word]
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if text[:1] in ("[", "{"):
        try:
            return parse_value(text)
        except InputError:
            return text
    return plain_scalar(text) if text[:1] in "+-.0123456789" and ":" not in text else text


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of every non-empty part.

    Bars separate if there are any, else commas; what stands in quotes or brackets holds together.
    """
    separator = "|" if "|" in text else ","
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.lstrip().startswith("#"):
            continue
        for part in _split(line, separator):
            if part.strip():
                yield number, part


def _split(line: str, separator: str) -> Iterator[str]:
    start, quote, depth = 0, "", 0
    for at, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == separator and depth <= 0:
            yield line[start:at]
            start = at + 1
    yield line[start:]
