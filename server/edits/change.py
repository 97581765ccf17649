"""What may be changed in a text, and how it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..configs.values import Unresolved

SET, ADD, RENAME, REMOVE = "set", "add", "rename", "remove"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one setting.

    key: native key as the reader reports it (dotted path, or flag with its dashes); line: where it is written.
    value: for SET and ADD; old: the value as read, so that a switch (`--bf16`) is told from a flag with a value.
    new_key: for RENAME.
    near, near_line: for ADD, a setting of the same launch or file that the new one is written beside.
    """

    action: str
    key: str
    line: int = 0
    value: Any = None
    old: Any = None
    new_key: str = ""
    near: str = ""
    near_line: int = 0


class NotEditable(Exception):
    """The text says the value in a way that is not edited; the text says why."""


def text_of_scalar(value: Any, like: str = "") -> str:
    """A bool, None, number or text as YAML, JSON, Hydra and flags write it; a bool as the old one was (`True`, `on`).

    Raises NotEditable for lists and mappings.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return _bool_like(value, like)
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str) and not isinstance(value, Unresolved):
        return value
    raise NotEditable("the new value is a list or a mapping")


def _bool_like(value: bool, like: str) -> str:
    if like in ("True", "False"):
        return str(value)
    if like in ("TRUE", "FALSE"):
        return str(value).upper()
    if like in ("on", "off"):
        return "on" if value else "off"
    if like in ("yes", "no"):
        return "yes" if value else "no"
    return str(value).lower()


def _number(value: int | float) -> str:
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text
    # Plain YAML 1.1 takes a number with an exponent for text unless it has a dot.
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{power}"


def line_bounds(text: str, line: int) -> tuple[int, int]:
    """Offsets of a line's first character and of its end, before the line break. Raises NotEditable beyond the end."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            raise NotEditable(f"there is no line {line}")
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return start, end - (text[end - 1 : end] == "\r" and end > start)


def line_end_of(text: str) -> str:
    """The line break of the text: the one that ends its first line."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
