"""Changes in YAML and JSON, given where each setting stands (`Slot`). Both share everything but how a value is written
and how a pair is parted from the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .change import ADD, REMOVE, RENAME, Change, NotEditable, line_bounds, line_end_of

SCALAR, MAPPING, OTHER = "scalar", "mapping", "other"


@dataclass(slots=True)
class Slot:
    """One setting of a mapping: offsets of its key and of its value as written, quotes included.

    name: the key itself, without the path in front; parent: the path of the mapping that holds it ("" for the root).
    refusal: why its value is not edited, "" when it can be.
    flow: the mapping is written in braces.
    """

    name: str
    parent: str
    key_start: int
    key_end: int
    value_start: int
    value_end: int
    line: int
    kind: str = SCALAR
    flow: bool = False
    refusal: str = ""

    @property
    def path(self) -> str:
        return f"{self.parent}.{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True)
class Syntax:
    """How a format writes a value in the place of an old one, a key, and a new pair beside another."""

    value: Callable[[Any, str], str]  # (value, old text) -> text
    key: Callable[[str, str], str]  # (new name, old text) -> text
    pair: Callable[[str, Slot, str, Any], str]  # (text, slot it follows, name, value) -> new text
    remove: Callable[[str, Slot], str]


def change_slots(text: str, slots: Mapping[str, Slot], change: Change, syntax: Syntax) -> str:
    """The text with the change made. Raises NotEditable."""
    if change.action == ADD:
        return _add(text, slots, change, syntax)
    slot = slots.get(change.key)
    if slot is None or slot.line != change.line:
        raise NotEditable(f"{change.key} is not written out at line {change.line}")
    if change.action == RENAME:
        return _rename(text, slots, slot, change, syntax)
    if change.action == REMOVE:
        return syntax.remove(text, slot)
    if slot.kind != SCALAR or slot.refusal:
        raise NotEditable(slot.refusal or "the value is a list or a mapping")
    old = text[slot.value_start : slot.value_end]
    new = syntax.value(change.value, old)
    gap = " " if slot.value_start == slot.value_end and text[slot.value_start - 1 : slot.value_start] == ":" else ""
    return text[: slot.value_start] + gap + new + text[slot.value_end :]


def _rename(text: str, slots: Mapping[str, Slot], slot: Slot, change: Change, syntax: Syntax) -> str:
    prefix = f"{slot.parent}." if slot.parent else ""
    name = change.new_key.removeprefix(prefix)
    if change.new_key in slots:
        raise NotEditable(f"{change.new_key} is set as well")
    if not change.new_key.startswith(prefix) or ("." in name and "." not in slot.name):
        raise NotEditable(f"{change.new_key} belongs to another section; move it by hand")
    old = text[slot.key_start : slot.key_end]
    return text[: slot.key_start] + syntax.key(name, old) + text[slot.key_end :]


def _add(text: str, slots: Mapping[str, Slot], change: Change, syntax: Syntax) -> str:
    """A new pair behind the last one-line setting of the mapping that it belongs to."""
    if change.key in slots:
        raise NotEditable(f"{change.key} is set already")
    parent, _, name = change.key.rpartition(".")
    siblings = [slot for slot in slots.values() if slot.parent == parent and not slot.refusal]
    lines = [slot for slot in siblings if slot.kind == SCALAR and "\n" not in text[slot.key_start : slot.value_end]]
    if not lines:
        section = f"the section {parent} " if parent else "the file "
        raise NotEditable(f"{section}has no plain setting that {name} could be written beside")
    beside = next((slot for slot in lines if slot.path == change.near), lines[-1])
    return syntax.pair(text, beside, name, change.value)


def whole_line(text: str, slot: Slot) -> tuple[int, int] | None:
    """Offsets of the line with its line break, when the pair stands alone on it (a comment may follow), else None."""
    start, end = line_bounds(text, text.count("\n", 0, slot.key_start) + 1)
    if text[start : slot.key_start].strip() or slot.value_end > end:
        return None
    rest = text[slot.value_end : end].strip()
    if rest and not rest.startswith("#"):
        return None
    following = text.find("\n", slot.value_end)
    return start, len(text) if following < 0 else following + 1


def new_line_behind(text: str, slot: Slot, written: str) -> str:
    """The text with a new line behind the slot's, indented like it."""
    start, end = line_bounds(text, text.count("\n", 0, slot.key_start) + 1)
    indent = text[start : slot.key_start]
    if indent.strip():
        raise NotEditable(f"{slot.path} does not stand on a line of its own")
    return text[:end] + line_end_of(text) + indent + written + text[end:]
