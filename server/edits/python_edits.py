"""Changes in Python: keyword arguments of a call whose value is a plain literal."""

from __future__ import annotations

import ast
import json
from typing import Any

from .change import ADD, REMOVE, RENAME, Change, NotEditable, line_bounds


def edit_python(text: str, change: Change) -> str:
    """The text with one keyword argument changed. Raises NotEditable."""
    key, line = (change.near, change.near_line) if change.action == ADD else (change.key, change.line)
    keyword = _keyword(text, key, line)
    if change.action == RENAME:
        start = _offset(text, keyword.lineno, keyword.col_offset)
        return text[:start] + change.new_key + text[start + len(key) :]
    if change.action == REMOVE:
        raise NotEditable("an argument of a Python call is not removed; take it out by hand")
    start, end = _span(text, keyword.value)
    if change.action == ADD:
        if not change.key.isidentifier():
            raise NotEditable(f"{change.key} is no argument of the call")
        return f"{text[:end]}, {change.key}={_written(change.value, '')}{text[end:]}"
    if not _is_literal(keyword.value):
        raise NotEditable("the value is an expression")
    return text[:start] + _written(change.value, text[start:end]) + text[end:]


def _keyword(text: str, key: str, line: int) -> ast.keyword:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotEditable("the file is not plain Python (a notebook, or Python with faults)") from None
    found = [node for node in ast.walk(module) if isinstance(node, ast.keyword) and node.arg == key]
    here = [node for node in found if line in (node.lineno, node.value.lineno)]
    if len(here) != 1:
        raise NotEditable(f"{key} is not a keyword argument at line {line}")
    return here[0]


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant)


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return _offset(text, node.lineno, node.col_offset), _offset(text, node.end_lineno, node.end_col_offset)


def _offset(text: str, line: int, column: int) -> int:
    """Offset in characters of a column that `ast` counts in bytes of UTF-8."""
    start, end = line_bounds(text, line)
    return start + len(text[start:end].encode("utf-8")[:column].decode("utf-8"))


def _written(value: Any, old: str) -> str:
    if isinstance(value, str):
        return repr(value) if old[:1] == "'" else json.dumps(value, ensure_ascii=not value.isprintable())
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    raise NotEditable("the new value is a list or a mapping")
