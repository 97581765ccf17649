"""Frameworks told by their programs and keys, which are data: those with an adapter that is loaded when it is needed,
and those known by name only, whose run says that its settings are not checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ...store.index import adapter as adapter_data
from ..parts import Part
from ..run_config import RunConfig
from .common import Options, apply_options, explicit_settings, start_run

_BY_PROGRAM, _BY_CALL, _BY_KEYS = 95, 50, 55
_MAX_NAME = 300  # characters of a program or key that are looked at


def claims(part: Part) -> int:
    """95 for a known program, 55 for keys that tell, 50 for a call in Python, else 0. `name_of` says whose it is."""
    return best_of([part])[1]


def name_of(parts: Iterable[Part]) -> str:
    """Name of the framework that the parts belong to; "" when none is recognised."""
    return best_of(parts)[0]


def build(parts: list[Part], options: Options, name: str = "") -> RunConfig:
    """A run with the settings as written and no canonical field. `name` stands when the caller has stated one."""
    name = name or name_of(parts)
    run = start_run(name, parts, options)
    lints = [] if all(part.format == "python" for part in parts) else run.lints  # each call has its own settings
    run.native = explicit_settings((entry for part in parts for entry in part.entries), lints)
    title = next((row["title"] for row in _rows() if row["name"] == name), name)
    run.notes.append(
        f"{title} is recognised, but its settings are not checked yet"
        if title
        else "no framework was recognised; name it with --framework"
    )
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Nothing is computed for a framework that is known by name only."""
    return {}


def best_of(parts: Iterable[Part]) -> tuple[str, int]:
    """The framework that claims the parts most surely, and how surely (as in `claims`); ("", 0) when none does."""
    name, score = "", 0
    for part in parts:
        for row in _rows():
            found = _score(row, part)
            if found > score:
                name, score = row["name"], found
    return name, score


def _score(row: Mapping[str, Any], part: Part) -> int:
    if part.program and any(re.search(pattern, part.program[:_MAX_NAME]) for pattern in row["programs"]):
        return _BY_PROGRAM
    if part.format == "python":
        wanted = row.get("calls", {}).get(part.program, ())
        return _BY_CALL if any(entry.key in wanted for entry in part.entries) else 0
    if not row["keys"]:
        return 0
    keys = {entry.key[:_MAX_NAME] for entry in part.entries}
    if any(re.match(pattern, key) for pattern in row.get("unless", ()) for key in keys):
        return 0
    told = {key for key in keys if _pattern(row["name"]).match(key)}
    return _BY_KEYS if len(told) >= row["least"] else 0


@lru_cache(maxsize=32)
def _pattern(name: str) -> re.Pattern[str]:
    """The keys of a framework; a pattern that does not end in a dot stands for a whole part of the path."""
    keys = next(row["keys"] for row in _rows() if row["name"] == name)
    starts = [key for key in keys if key.endswith(r"\.")]
    parts = [rf"(?:{'|'.join(part)})(?![\w-])" if (part := [key for key in keys if key not in starts]) else ""]
    return re.compile("|".join([*starts, *filter(None, parts)]))


def _rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = adapter_data("recognised")["frameworks"]
    return rows
