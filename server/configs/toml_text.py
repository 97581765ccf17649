"""TOML with line numbers: `tomllib` gives the values, a scan over the text gives the lines."""

from __future__ import annotations

import re
from datetime import date, time
from typing import Any

from ..limits import MAX_DEPTH, MAX_NODES
from .files import checked, printable
from .values import Document, Entry, InputError

_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_HEADER = re.compile(rf"\[\[?[ \t]*({_KEY}(?:[ \t]*\.[ \t]*{_KEY})*)[ \t]*\]")
_SETTING = re.compile(rf"({_KEY}(?:[ \t]*\.[ \t]*{_KEY})*)[ \t]*=(.*)")
_PART = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'|([A-Za-z0-9_-]+)")


def read_toml(text: str, path: str) -> Document:
    """Read a TOML file.

    In: the text and the name for messages. Out: entries for every leaf (arrays, arrays of tables and empty tables
    are leaves), the plain tree; dates are text. Raises InputError for broken TOML, with the line where known.
    """
    import tomllib

    text = checked(text, path)
    _refuse_deep(text, path)
    document = Document(path, "toml")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        cause = printable(error) or "nested too deeply"
        raise InputError(f"{printable(path)}: broken TOML, {cause}; correct that line") from None
    document.data = _without_dates(data, [0])
    lines = _setting_lines(text)
    document.entries = _entries(document.data, path, lines)
    if not document.data:
        document.notes.append("the file is empty")
    return document


def _refuse_deep(text: str, path: str) -> None:
    """Long runs of brackets or dotted parts cost tomllib recursion and quadratic time; no config has them."""
    deep = MAX_DEPTH
    pattern = rf"(?:[\[{{][^\S\n]*){{{deep},}}|(?:[^\s.=\[\]]{{1,200}}[ \t]?\.[ \t]?){{{deep},}}"
    for number, line in enumerate(text.split("\n"), start=1):
        if (line.count("[") + line.count("{") >= deep or line.count(".") >= deep) and re.search(pattern, line):
            raise InputError(f"{printable(path)} line {number}: nested deeper than {deep} levels; no config is")


def _without_dates(value: Any, count: list[int], depth: int = 0) -> Any:
    count[0] += 1
    if count[0] > MAX_NODES or depth > MAX_DEPTH:
        raise InputError(f"more than {MAX_NODES:,} values or {MAX_DEPTH} levels; no config is that large")
    if isinstance(value, dict):
        return {key: _without_dates(child, count, depth + 1) for key, child in value.items()}
    if isinstance(value, list):
        return [_without_dates(child, count, depth + 1) for child in value]
    return value.isoformat() if isinstance(value, date | time) else value


def _setting_lines(text: str) -> dict[str, tuple[int, str]]:
    """Dotted key → line and text of its value, for every header and setting line."""
    found: dict[str, tuple[int, str]] = {}
    table = ""
    inside = ""  # the quote that ends a multi-line string
    for number, line in enumerate(text.split("\n"), start=1):
        if inside:
            if inside in line:
                inside = ""
            continue
        header = _HEADER.match(line.strip())
        setting = None if header else _SETTING.match(line.strip())
        if header is not None:
            table = _dotted(header[1])
            found.setdefault(table, (number, ""))
        elif setting is not None:
            key = _dotted(setting[1])
            value = setting[2].strip()
            found.setdefault(f"{table}.{key}" if table else key, (number, printable(value)))
        for quote in ('"""', "'''"):
            if line.count(quote) % 2:
                inside = quote
    return found


def _dotted(key: str) -> str:
    return ".".join(next(part for part in match.groups() if part is not None) for match in _PART.finditer(key))


def _entries(data: Any, path: str, lines: dict[str, tuple[int, str]]) -> list[Entry]:
    entries: list[Entry] = []

    def walk(table: dict[str, Any], prefix: str, line: int) -> None:
        for key, value in table.items():
            dotted = prefix + key
            own_line, text = lines.get(dotted, (line, ""))
            if isinstance(value, dict) and value:
                walk(value, dotted + ".", own_line)
            else:
                entries.append(Entry(dotted, value, path, own_line, text=text))

    walk(data, "", 1)
    return entries
