"""A patch as unified diff, and what was edited and what was not, in a line each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..checks.engine import show
from ..edits.patch import EditRow, Patch
from ..edits.run import Fixed
from ..model import clean, plain


def diff_text(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Unified diff of the texts by name, for `git apply` (names below the working directory) and `patch -p1`."""
    return "".join(line for name in new for line in _diff(name, old[name], new[name]))


def _diff(name: str, old: str, new: str) -> Iterable[str]:
    shown = Path(name).as_posix().removeprefix("./")
    before, after = (f"a/{shown}", f"b/{shown}") if not Path(name).is_absolute() else (shown, shown)
    for line in difflib.unified_diff(_lines(old), _lines(new), before, after):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only "\\n" ends a line, as in `git`."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def edit_lines(patch: Patch, verb: str) -> list[str]:
    """`verb` ("edited", "would edit") and place of each edit, then what was not edited and why."""
    made = [f"{verb} {_place(row)}{_change(row)}  [{row.rule}]" for row in patch.edits]
    left = [f"not edited {_place(row)}{_change(row)}  [{row.rule}]: {row.reason}" for row in patch.skipped]
    return [clean(line).replace("\n", " ") for line in [*made, *left]]


def _place(row: EditRow) -> str:
    return f"{row.file}:{row.line} " if row.file else ""


def _change(row: EditRow) -> str:
    if row.action == "rename":
        return f"{row.key} -> {row.new_key}"
    if row.action == "remove":
        return f"{row.key} removed"
    old = f"{show(row.old)} -> " if row.old is not None else ""
    return f"{row.key}: {old}{show(row.value)}"


def patch_data(fixed: Fixed, *, written: bool) -> dict[str, Any]:
    """The patch as plain JSON types: unified diff, edits made, edits left with the reason."""
    rows = {"edits": fixed.patch.edits, "skipped": fixed.patch.skipped}
    diff = clean(diff_text(fixed.old_texts, fixed.patch.texts))
    return {"written": written, "diff": diff, **{name: plain(group) for name, group in rows.items()}}
