"""A folder of logs as one run: which of its files are logs, and which rank wrote them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..configs.files import printable
from ..configs.values import InputError
from ..limits import MAX_FOLDER_ENTRIES, MAX_LOG_FILES

_DEEPEST = 6
_SUFFIXES = (".log", ".txt", ".out", ".err", ".jsonl", ".csv", ".tsv", ".wandb")
_OWN = ("debug.log", "debug-internal.log", "debug-core.log")  # W&B's about itself
_NAMES = (
    "trainer_state.json",
    "output.log",
    "wandb-metadata.json",
    "wandb-summary.json",
    "requirements.txt",
    "config.yaml",
)
_CHECKPOINT = re.compile(r"checkpoint-(\d+)$")
_RANK = re.compile(
    r"(?:^|[/_.-])(?:rank|local_rank|worker|proc|node)[_-]?(\d{1,5})(?=[/_.-]|$)"
    r"|/(\d{1,5})/(?:stdout|stderr)\.log$|^(\d{1,5})\.(?:log|out)$"
)


def logs_in(folder: Path) -> tuple[list[Path], list[str]]:
    """Log files of a folder in a fixed order, and notes on what was left out. Links out of it are not followed.

    Raises InputError when it cannot be listed or holds none.
    """
    found: list[Path] = []
    seen, notes = 0, []
    for here, folders, files in os.walk(folder, onerror=_refuse, followlinks=False):
        folders.sort()
        if len(Path(here).relative_to(folder).parts) >= _DEEPEST:
            folders.clear()
        for name in sorted(files):
            seen += 1
            path = Path(here, name)
            if _is_log(name) and path.is_file() and not path.is_symlink():
                found.append(path)
        if seen > MAX_FOLDER_ENTRIES:
            notes.append(f"more than {MAX_FOLDER_ENTRIES:,} files: the rest of the folder was not looked at")
            break
    found.sort(key=lambda path: path.suffix == ".wandb")  # after the text of the same output
    states = [path for path in found if path.name == "trainer_state.json"]
    if len(states) > 1:  # each checkpoint repeats the history of the ones before
        last = max(states, key=lambda path: (_checkpoint(path), str(path)))
        found = [path for path in found if path.name != "trainer_state.json" or path == last]
    if len(found) > MAX_LOG_FILES:
        notes.append(f"{len(found)} logs: the first {MAX_LOG_FILES} were read")
    if not found:
        raise InputError(f"{printable(folder)}: no log in this folder; name a file")
    return found[:MAX_LOG_FILES], notes


def rank_of(path: Path) -> int | None:
    """The rank or worker number that a file name or its folder gives."""
    found = _RANK.search("/".join(path.parts[-2:])) or _RANK.search(path.name)
    return int(next(part for part in found.groups() if part)) if found else None


def _is_log(name: str) -> bool:
    if name in _OWN:
        return False
    return name in _NAMES or "tfevents" in name or name.endswith(_SUFFIXES)


def _checkpoint(path: Path) -> int:
    found = _CHECKPOINT.search(path.parent.name)
    return int(found[1]) if found else -1


def _refuse(error: OSError) -> None:
    raise InputError(f"{printable(error.filename)}: cannot be listed ({error.strerror or 'I/O error'})")
