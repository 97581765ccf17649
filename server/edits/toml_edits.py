"""Changes in TOML: settings of one line each, found where the reader found them."""

from __future__ import annotations

import json
import re

from .change import ADD, REMOVE, RENAME, Change, NotEditable, line_bounds, text_of_scalar

_SETTING = re.compile(r"(\s*)([\w.\"'-]+)([ \t]*=[ \t]*)")
_SCALAR = re.compile(r"\"(?!\"\")[^\"\\\n]*\"|'(?!'')[^'\n]*'|[\w.+:-]+")


def edit_toml(text: str, change: Change) -> str:
    """The text with one setting changed. Raises NotEditable."""
    if change.action == ADD:
        raise NotEditable("a new setting is not added to TOML; write it by hand")
    start, end = line_bounds(text, change.line)
    found = _SETTING.match(text, start, end)
    name = change.key.rpartition(".")[2]
    if found is None or found[2].rpartition(".")[2].strip("\"'") != name:
        raise NotEditable(f"{change.key} is not written out at line {change.line}")
    value = _SCALAR.match(text, found.end(), end)
    rest = text[value.end() : end].strip() if value is not None else "?"
    if value is None or (rest and not rest.startswith("#")):
        raise NotEditable("the value is a list, a table or goes over several lines")
    if change.action == REMOVE:
        following = text.find("\n", end)
        return text[:start] + (text[following + 1 :] if following >= 0 else "")
    if change.action == RENAME:
        parent = change.key[: -len(name)]
        new = change.new_key.removeprefix(parent)
        if not change.new_key.startswith(parent) or "." in new or found[2] != name:
            raise NotEditable(f"{change.new_key} belongs to another section; move it by hand")
        return text[: found.start(2)] + new + text[found.end(2) :]
    return text[: value.start()] + _written(change.value, value[0]) + text[value.end() :]


def _written(value: object, old: str) -> str:
    if value is None:
        raise NotEditable("TOML has no null; remove the setting by hand")
    text = text_of_scalar(value)
    if not isinstance(value, str):
        return text
    return f"'{text}'" if old[:1] == "'" and "'" not in text else json.dumps(text, ensure_ascii=not value.isprintable())
