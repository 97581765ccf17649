"""Changes in YAML. Offsets come from the events of the parser that the reader uses, so nothing is written anew.

ruamel.yaml was considered: its round trip keeps comments, but it folds long lines, re-indents sequences and
normalises blanks, so that lines nobody touched come out different.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..configs.yaml_text import event_source, plain_scalar
from .change import Change, NotEditable, text_of_scalar
from .slots import MAPPING, OTHER, SCALAR, Slot, Syntax, change_slots, new_line_behind, whole_line

_PLAIN = re.compile(r"[A-Za-z_/][\w./-]*")


def edit_yaml(text: str, change: Change) -> str:
    """The text with one setting changed. Raises NotEditable."""
    slots = slots_of(text)
    return change_slots(text, slots, change, Syntax(_value, _key, _pair, lambda t, slot: _remove(t, slot, slots)))


def slots_of(text: str) -> dict[str, Slot]:
    """Where each setting of the first non-empty document stands, by dotted path. The text was read before."""
    walk = _Walk()
    next_event = event_source(text)
    while (event := next_event()) is not None:
        name = type(event).__name__
        if name == "DocumentEndEvent" and walk.found:
            break
        walk.take(name, event)
    return walk.found


class _Open:
    """A collection whose end has not been read: its path, and the key that waits for its value."""

    __slots__ = ("editable", "flow", "is_mapping", "key", "path", "slot")

    def __init__(self, path: str, is_mapping: bool, flow: bool, editable: bool, slot: Slot | None) -> None:
        self.path = path
        self.is_mapping = is_mapping
        self.flow = flow
        self.editable = editable  # below mappings only, outside lists and anchors
        self.slot = slot
        self.key: Any = None


class _Walk:
    def __init__(self) -> None:
        self.found: dict[str, Slot] = {}
        self.stack: list[_Open] = []

    def take(self, name: str, event: Any) -> None:
        if name in ("MappingStartEvent", "SequenceStartEvent"):
            self._open(name == "MappingStartEvent", event)
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            closed = self.stack.pop()
            if closed.slot is not None:
                closed.slot.value_end = event.end_mark.index
            elif self._awaits_key():
                self.stack[-1].key = event  # a collection as a key
        elif name in ("ScalarEvent", "AliasEvent"):
            if self._awaits_key():
                self.stack[-1].key = event
            else:
                self._value(name, event)

    def _awaits_key(self) -> bool:
        return bool(self.stack) and self.stack[-1].is_mapping and self.stack[-1].key is None

    def _open(self, is_mapping: bool, event: Any) -> None:
        slot, path, editable = None, "", True
        if self._awaits_key():
            editable = False
        elif self.stack:
            slot = self._slot(MAPPING if is_mapping else OTHER, event)
            path = slot.path if slot is not None else ""
            editable = slot is not None and is_mapping
        editable = editable and event.anchor is None
        self.stack.append(_Open(path, is_mapping, bool(event.flow_style), editable, slot))

    def _value(self, name: str, event: Any) -> None:
        slot = self._slot(SCALAR if name == "ScalarEvent" else OTHER, event) if self.stack else None
        if slot is None:
            return
        if name == "AliasEvent":
            slot.refusal = f"the value is taken from the anchor &{event.anchor}"
        elif event.anchor is not None:
            slot.refusal = f"the value is the anchor &{event.anchor}, which other settings take"
        elif event.tag not in (None, "!"):
            slot.refusal = f"the value carries the tag {event.tag}"
        elif event.style in ("|", ">") or event.start_mark.line != event.end_mark.line:
            slot.refusal = "the value goes over several lines"

    def _slot(self, kind: str, event: Any) -> Slot | None:
        """The slot of the value that `event` starts; None inside lists and for keys that are no text."""
        parent = self.stack[-1]
        key, parent.key = parent.key, None
        if not parent.is_mapping or not parent.editable or type(key).__name__ != "ScalarEvent" or key.value == "<<":
            return None
        start = key.start_mark
        slot = Slot(
            key.value, parent.path, start.index, key.end_mark.index, event.start_mark.index, event.end_mark.index,
            start.line + 1, kind, parent.flow,
        )  # fmt: skip
        self.found[slot.path] = slot
        return slot


def _value(value: Any, old: str) -> str:
    text = text_of_scalar(value, old)
    if not isinstance(value, str):
        return text
    if old[:1] == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if old[:1] == '"' or not _PLAIN.fullmatch(text) or not isinstance(plain_scalar(text), str):
        return _double_quoted(text)
    return text


def _double_quoted(text: str) -> str:
    """JSON's form, which YAML reads the same, but for characters beyond 16 bits when they have to be escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in quoted)


def _key(name: str, old: str) -> str:
    quote = old[:1] if old[:1] in ("'", '"') else ""
    return f"{quote}{name}{quote}"


def _pair(text: str, beside: Slot, name: str, value: Any) -> str:
    written = f"{name}: {_value(value, '')}"
    if beside.flow:
        return f"{text[: beside.value_end]}, {written}{text[beside.value_end :]}"
    return new_line_behind(text, beside, written)


def _remove(text: str, slot: Slot, slots: dict[str, Slot]) -> str:
    if sum(other.parent == slot.parent for other in slots.values()) == 1:
        raise NotEditable(f"{slot.name} is the only setting of its section; remove the section by hand")
    bounds = None if slot.flow or slot.kind != SCALAR or slot.refusal else whole_line(text, slot)
    if bounds is None:
        raise NotEditable(f"{slot.path} does not stand on a line of its own")
    return text[: bounds[0]] + text[bounds[1] :]
