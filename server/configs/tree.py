"""The tree that the YAML, JSON and TOML readers share: plain values that remember their lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .values import Entry


class Node:
    """One value of a data file.

    value: dict of key → Node, list of Node, or the scalar itself.
    line: where the setting is written (the line of its key).
    text: the scalar or one-line collection as written.
    size, height: number of nodes and levels below, with aliases expanded.
    """

    __slots__ = ("height", "line", "size", "text", "value")

    def __init__(self, value: Any, line: int, text: str = "") -> None:
        self.value = value
        self.line = line
        self.text = text
        self.size = 1
        self.height = 1


def plain(node: Node) -> Any:
    """The value without lines. The depth was capped by the reader, so recursion is safe here."""
    value = node.value
    if type(value) is dict:
        return {key: plain(child) for key, child in value.items()}
    if type(value) is list:
        return [plain(child) for child in value]
    return value


def leaves(node: Node, data: Any, file: str, prefix: str = "") -> Iterator[Entry]:
    """Settings below a mapping: dotted key, value from `data` (= `plain(node)`), file and line.

    Lists (also lists of mappings) and empty mappings are values. Anything but a mapping has no settings.
    """
    if type(node.value) is not dict:
        return
    for key, child in node.value.items():
        if type(child.value) is dict and child.value:
            yield from leaves(child, data[key], file, f"{prefix}{key}.")
        else:
            yield Entry(prefix + key, data[key], file, child.line, text=child.text)
