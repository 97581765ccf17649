"""Many runs: the files below a folder that may be one, and validating them in parallel, in order, in bounded memory."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .configs.assembly import ADAPTERS, project_folder
from .configs.values import InputError, ProjectFileError
from .limits import MAX_RUN_FILES
from .model import Report
from .paths import PROJECT_FILE
from .validate import validate_targets

if TYPE_CHECKING:
    from .project_file import ProjectFile

SUFFIXES = frozenset(
    (".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".sub", ".yaml", ".yml", ".json", ".jsonc", ".toml", ".py", ".ipynb")
)
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "site-packages", "venv"))
_MAX_CHUNK = 16  # files that a worker takes at once
_CHUNKS_AHEAD = 3  # chunks handed out per worker; more results than these are never waiting
_FIRST = 24  # files before workers are started; starting them takes as long as these


@dataclass(frozen=True, slots=True)
class Task:
    """How each file is validated: options of `validate_targets`, what is to be made of its fixes, and how the report
    is shown. `show` runs in the workers, so that no report has to travel."""

    options: Mapping[str, Any]
    show: Callable[[Checked], Any]
    edits: Literal["", "diff", "fix", "data"] = ""  # data: each fix as replacements, for SARIF
    unsafe: bool = False


@dataclass(slots=True)
class Checked:
    """The report on one file, and what was asked for of its fixes."""

    report: Report
    diff: str = ""
    edit_lines: Sequence[str] = ()
    patch: Mapping[str, Any] | None = None
    replacements: Mapping[int, Sequence[Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """What became of one file: its counts, and `shown` as the task made it. One that was skipped says why."""

    path: str
    skipped: Literal["", "excluded", "no launch or config", "unreadable"] = ""
    error: str = ""
    framework: str = ""
    findings: Mapping[str, int] = field(default_factory=dict)  # by severity
    suppressed: int = 0
    shown: Any = None
    edit_lines: Sequence[str] = ()


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
    """Validate each file as a run of its own, in the order given; `workers` processes (default: one per core).

    The first files are validated here: what they load (knowledge, key tables), forked workers have already.
    """
    count = workers or _cores()
    first = len(paths) if count < 2 or len(paths) < 2 * _FIRST else _FIRST
    for path in paths[:first]:
        yield validate_one(path, task)
    if first < len(paths):
        yield from _in_parallel(paths[first:], task, count)


def _in_parallel(paths: Sequence[Path], task: Task, count: int) -> Iterator[Outcome]:
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
    """Validate one file; what is no launch or config of a framework with an adapter is skipped.

    Raises ProjectFileError.
    """
    try:
        if _is_excluded(path):
            return Outcome(str(path), skipped="excluded")
        if path.name == PROJECT_FILE or (path.is_file() and path.stat().st_size == 0):
            return Outcome(str(path), skipped="no launch or config")
        report = validate_targets([path], **task.options)
    except ProjectFileError:
        raise
    except InputError as error:
        return Outcome(str(path), skipped="unreadable", error=str(error))
    if report.framework not in ADAPTERS:
        return Outcome(str(path), skipped="no launch or config")
    checked = Checked(report)
    if task.edits:
        _with_edits(checked, path, task)
    report = checked.report
    counts = Counter(finding.severity for finding in report.findings)
    return Outcome(
        str(path),
        framework=report.framework,
        findings=counts,
        suppressed=len(report.suppressed),
        shown=task.show(checked),
        edit_lines=checked.edit_lines,
    )


def check_project_files(targets: Iterable[Path]) -> None:
    """Read the project files of the targets. Raises ProjectFileError, before anything is printed."""
    for target in targets:
        _project_file(target / "run" if target.is_dir() else target)


def _is_excluded(path: Path) -> bool:
    found = _project_file(path)
    return found is not None and found.excludes(path.resolve())


def _project_file(path: Path) -> ProjectFile | None:
    from .project_file import find_project_file, load_project_file

    project = project_folder(path)
    found = find_project_file(path, project)
    return load_project_file(found, project) if found is not None else None


def _with_edits(checked: Checked, path: Path, task: Task) -> None:
    if task.edits == "data":
        from .edits.replacements import replacements

        checked.replacements = replacements([path], checked.report, task.options)
        return
    from .edits.run import fix_run
    from .render.patch import diff_text, edit_lines, patch_data

    fixed = fix_run([path], task.options, unsafe=task.unsafe, report=checked.report)
    wants_files = task.edits == "fix"
    try:
        if wants_files:
            fixed.write()
    except InputError as error:  # the other files are none the worse
        checked.edit_lines = [f"not edited {error}"]
        return
    checked.report = fixed.patch.report if wants_files else checked.report
    checked.diff = diff_text(fixed.old_texts, fixed.patch.texts)
    checked.edit_lines = edit_lines(fixed.patch, "edited" if wants_files else "would edit")
    checked.patch = patch_data(fixed, written=wants_files)
