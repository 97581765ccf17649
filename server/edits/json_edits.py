"""Changes in JSON, comments and other deviations that the reader takes included."""

from __future__ import annotations

import json
from typing import Any

from ..configs.json_text import Scanner
from ..configs.tree import Node
from ..configs.values import Document, Unresolved
from .change import Change, NotEditable, line_bounds, text_of_scalar
from .slots import MAPPING, OTHER, SCALAR, Slot, Syntax, change_slots, new_line_behind


def edit_json(text: str, change: Change) -> str:
    """The text with one setting changed. Raises NotEditable."""
    return change_slots(text, slots_of(text), change, Syntax(_value, _key, _pair, _remove))


def slots_of(text: str) -> dict[str, Slot]:
    """Where each setting of nested objects stands, by dotted path. The text was read before."""
    scanner = _Places(text, Document("", "json"))
    found: dict[str, Slot] = {}
    todo: list[tuple[str, Node]] = [("", scanner.read())]
    while todo:
        path, node = todo.pop()
        if type(node.value) is not dict:
            continue
        for name, child in node.value.items():
            slot = scanner.slot(name, path, child)
            found[slot.path] = slot
            todo.append((slot.path, child))
    return dict(sorted(found.items(), key=lambda item: item[1].key_start))


class _Places(Scanner):
    """The reader's scanner, which also notes where keys and values start and end."""

    def __init__(self, text: str, document: Document) -> None:
        super().__init__(text, document)
        self._spans: dict[int, tuple[int, int, int, int, int]] = {}
        self._nodes: list[Node] = []  # kept, so that no id is used twice
        self._key_span = (0, 0)

    def slot(self, name: str, parent: str, node: Node) -> Slot:
        key_start, key_end, start, end, line = self._spans[id(node)]
        kind = MAPPING if type(node.value) is dict else OTHER if type(node.value) is list else SCALAR
        slot = Slot(name, parent, key_start, key_end, start, end, line, kind)
        if isinstance(node.value, Unresolved):
            slot.refusal = "the value is a placeholder"
        return slot

    def _key(self) -> str:
        start = self.at
        key = super()._key()
        # The scanner stands behind the colon; between key and colon there are blanks only, or a comment.
        end = self.text.rfind(self.text[start], start, self.at) + 1 if self.text[start] in "\"'" else start + len(key)
        self._key_span = (start, end)
        return key

    def _value_or_open(self) -> Node:
        start, line = self.at, self._line(self._key_span[0])
        node = super()._value_or_open()
        self._nodes.append(node)
        self._spans[id(node)] = (*self._key_span, start, self.at, line)
        return node


def _value(value: Any, old: str) -> str:
    if old in ("True", "False") and isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    return text_of_scalar(value)


def _key(name: str, old: str) -> str:
    quote = old[:1] if old[:1] in ("'", '"') else ""
    return f"{quote}{name}{quote}"


def _pair(text: str, beside: Slot, name: str, value: Any) -> str:
    """Behind the neighbour and its comma; the neighbour gets one when it was the last."""
    written = f"{json.dumps(name)}: {_value(value, '')}"
    start, end = line_bounds(text, text.count("\n", 0, beside.key_start) + 1)
    rest = text[beside.value_end : end].strip()
    if text[start : beside.key_start].strip() or rest not in ("", ","):
        return f"{text[: beside.value_end]}, {written}{text[beside.value_end :]}"
    if rest:
        return new_line_behind(text, beside, written + ",")
    return new_line_behind(text[: beside.value_end] + "," + text[beside.value_end :], beside, written)


def _remove(text: str, slot: Slot) -> str:
    if slot.kind != SCALAR:
        raise NotEditable(f"{slot.path} is not a plain value; remove it by hand")
    start, end = line_bounds(text, text.count("\n", 0, slot.key_start) + 1)
    rest = text[slot.value_end : end].strip()
    if text[start : slot.key_start].strip() or rest not in ("", ",") or slot.value_end > end:
        raise NotEditable(f"{slot.path} does not stand on a line of its own")
    following = text.find("\n", slot.value_end)
    head, tail = text[:start], text[following + 1 :] if following >= 0 else ""
    if rest or not tail.lstrip().startswith("}"):
        return head + tail
    bare = head.rstrip()
    if not bare.endswith(","):  # the only setting of its object, or a comment stands in front
        return head + tail if bare.endswith("{") else _no_comma(slot)
    return bare[:-1] + head[len(bare) :] + tail


def _no_comma(slot: Slot) -> str:
    raise NotEditable(f"the comma in front of {slot.path} was not found; remove it by hand")
