"""Many runs: the files below a folder that may be one, and validating them in parallel, in order, in bounded memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .configs.assembly import ADAPTERS, project_folder
from .configs.values import InputError
from .limits import MAX_RUN_FILES
from .model import Report
from .validate import validate_targets

SUFFIXES = frozenset(
    (".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".sub", ".yaml", ".yml", ".json", ".jsonc", ".toml", ".py", ".ipynb")
)
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "site-packages", "venv"))
_MAX_CHUNK = 16  # files that a worker takes at once
_CHUNKS_AHEAD = 3  # chunks handed out per worker; more results than these are never waiting
_PARALLEL_FROM = 24  # below that starting workers takes longer than the work


@dataclass(frozen=True, slots=True)
class Task:
    """How each file is validated: options of `validate_targets`, and what is to be made of its fixes."""

    options: Mapping[str, Any]
    edits: Literal["", "diff", "fix", "data"] = ""  # data: each fix as replacements, for SARIF
    unsafe: bool = False
    keep_settings: bool = True  # effective settings are most of a report


@dataclass(slots=True)
class Outcome:
    """What became of one file. Without a report it was skipped: excluded, no launch or config, or unreadable."""

    path: str
    report: Report | None = None
    skipped: Literal["", "excluded", "no launch or config", "unreadable"] = ""
    error: str = ""
    diff: str = ""
    edit_lines: Sequence[str] = ()
    patch: Mapping[str, Any] | None = None
    replacements: Mapping[int, Sequence[Any]] | None = None


def find_files(targets: Iterable[Path]) -> list[Path]:
    """Files to look at: each file named, and below each folder those with the name of a script or config, by name.

    Hidden folders, environments and links are passed over. Raises InputError when a target does not exist.
    """
    found: dict[Path, None] = {}
    for target in targets:
        if not target.exists():
            raise InputError(f"{target}: no such file or folder; check the path")
        for path in _below(target) if target.is_dir() else [target]:
            found[path] = None
            if len(found) > MAX_RUN_FILES:
                raise InputError(f"{target}: more than {MAX_RUN_FILES:,} scripts and configs; name a folder in it")
    return list(found)


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(place, name)
            if path.suffix.lower() in SUFFIXES and not name.startswith(".") and not path.is_symlink():
                yield path


def validate_each(paths: Sequence[Path], task: Task, workers: int | None = None) -> Iterator[Outcome]:
    """Validate each file as a run of its own, in the order given; `workers` processes (default: one per core)."""
    count = workers or min(_cores(), max(1, len(paths) // _MAX_CHUNK))
    if count < 2 or (workers is None and len(paths) < _PARALLEL_FROM):
        for path in paths:
            yield validate_one(path, task)
        return
    size = max(1, min(_MAX_CHUNK, len(paths) // (4 * count)))
    chunks = (paths[start : start + size] for start in range(0, len(paths), size))
    waiting: deque[Future[list[Outcome]]] = deque()
    pool = ProcessPoolExecutor(count)
    try:
        for chunk in chunks:
            waiting.append(pool.submit(_validate_chunk, chunk, task))
            if len(waiting) >= _CHUNKS_AHEAD * count:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise InputError("a worker process was ended from outside (out of memory?); name fewer files") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _validate_chunk(paths: Sequence[Path], task: Task) -> list[Outcome]:
    return [validate_one(path, task) for path in paths]


def validate_one(path: Path, task: Task) -> Outcome:
    """Validate one file; what is no launch or config of a framework with an adapter is skipped."""
    try:
        if _is_excluded(path):
            return Outcome(str(path), skipped="excluded")
        report = validate_targets([path], **task.options)
    except InputError as error:
        return Outcome(str(path), skipped="unreadable", error=str(error))
    if report.framework not in ADAPTERS:
        return Outcome(str(path), skipped="no launch or config")
    outcome = Outcome(str(path), report)
    if task.edits:
        _with_edits(outcome, path, task)
    if outcome.report is not None and not task.keep_settings:
        outcome.report.settings, outcome.report.assumptions = [], []
    return outcome


def _is_excluded(path: Path) -> bool:
    from .project_file import find_project_file, load_project_file

    project = project_folder(path)
    found = find_project_file(path, project)
    return found is not None and load_project_file(found, project).excludes(path.resolve())


def _with_edits(outcome: Outcome, path: Path, task: Task) -> None:
    assert outcome.report is not None
    if task.edits == "data":
        from .edits.replacements import replacements

        outcome.replacements = replacements([path], outcome.report, task.options)
        return
    from .edits.run import fix_run
    from .render.patch import diff_text, edit_lines, patch_data

    fixed = fix_run([path], task.options, unsafe=task.unsafe, report=outcome.report)
    if task.edits == "fix":
        fixed.write()
        outcome.report = fixed.patch.report
    outcome.diff = diff_text(fixed.old_texts, fixed.patch.texts)
    outcome.edit_lines = edit_lines(fixed.patch, "edited" if task.edits == "fix" else "would edit")
    outcome.patch = patch_data(fixed, written=task.edits == "fix")
