"""`.grpo-guard.yaml`: what a project states once for all its runs. What the caller gives wins over it.

versions: {verl: 0.8.0}
gpu: H100
world_size: 8
ignore:
  - {rule: one-sample-groups, reason: smoke tests, until: 2027-03-31}
rules: guard-rules          # a folder of rules in the form of knowledge/rules
exclude: [third_party, "*/legacy/*.sh"]
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from .configs.files import printable, read_text
from .configs.values import Document, InputError, ProjectFileError
from .limits import MAX_DEPTH, MAX_IGNORED_RULES
from .paths import PROJECT_FILE

_KEYS = ("versions", "gpu", "world_size", "ignore", "rules", "exclude")
_IGNORE_KEYS = ("rule", "reason", "until")


@dataclass(frozen=True, slots=True)
class Ignore:
    """One rule that the project ignores: why, and up to which day (included)."""

    rule: str
    reason: str
    until: date

    @property
    def expired(self) -> bool:
        return date.today() > self.until


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A project file as read. `rules` are compiled, as in the index; `shown` is how messages call the file."""

    path: Path
    shown: str
    versions: dict[str, str] = field(default_factory=dict)
    gpu: str = ""
    world_size: int | None = None
    ignore: tuple[Ignore, ...] = ()
    exclude: tuple[str, ...] = ()
    rules_folder: str = ""
    rules: tuple[dict[str, Any], ...] = ()

    def ignored(self, rule: str) -> Ignore | None:
        """The entry that silences a rule today."""
        return next((entry for entry in self.ignore if entry.rule == rule and not entry.expired), None)

    def notes(self) -> list[str]:
        """What a report has to say of the file: entries that ignore nothing any more."""
        return [
            f"{self.shown}: ignoring {entry.rule} ended on {entry.until}; it counts again"
            for entry in self.ignore
            if entry.expired
        ]

    def excludes(self, path: Path) -> bool:
        """Whether a path, absolute, matches a pattern: a folder, a file, or `*` and `?` over the path from here."""
        folder = self.path.parent
        if not self.exclude or not path.is_relative_to(folder):
            return False
        name = path.relative_to(folder).as_posix()
        above = [name, *(parent.as_posix() for parent in Path(name).parents)]
        return any(fnmatch.fnmatchcase(part, pattern) for pattern in self.exclude for part in above)


def find_project_file(target: Path, top: Path) -> Path | None:
    """The nearest project file from the target's folder up to `top`, None without one. Both are resolved first.

    Raises ProjectFileError for a link that leads out of `top`.
    """
    top, folder = top.resolve(), target.resolve()
    folder = folder if folder.is_dir() else folder.parent
    for _ in range(MAX_DEPTH):
        place = folder / PROJECT_FILE
        if place.is_file():
            if not place.resolve().is_relative_to(top):
                raise ProjectFileError(
                    f"{printable(place)}: leads out of the project folder; put the file itself there"
                )
            return place
        if folder == top or folder == folder.parent or not folder.is_relative_to(top):
            return None
        folder = folder.parent
    return None


def load_project_file(path: Path, top: Path) -> ProjectFile:
    """Read a project file; its own rules are read inside `top` only. Raises ProjectFileError with file and key."""
    try:
        status = path.stat()
        return _with_rules(_load(path, (status.st_mtime_ns, status.st_size)), top)
    except InputError as error:
        raise ProjectFileError(str(error)) from None
    except OSError as error:
        raise ProjectFileError(f"{_shown(path)}: cannot be read ({error.strerror or 'I/O error'})") from None


def _with_rules(stated: ProjectFile, top: Path) -> ProjectFile:
    rules = _own_rules(stated, top.resolve())
    own = {rule["id"] for rule in rules}
    for number, entry in enumerate(stated.ignore, 1):
        _require_rule(entry.rule, own, f"{stated.shown}: ignore entry {number}")
    return replace(stated, rules=rules)


@lru_cache(maxsize=32)
def _load(path: Path, _: tuple[int, int]) -> ProjectFile:
    """The file itself, without its own rules; read again when it has changed."""
    from .configs.yaml_text import read_yaml

    shown = _shown(path)
    document = read_yaml(read_text(path), shown)
    data = {} if document.data is None else document.data
    _mapping(data, _KEYS, shown, "the file")
    if faults := [lint.message for lint in document.lints if lint.rule == "duplicate-key"]:
        raise InputError(f"{shown}: {faults[0]}")
    return ProjectFile(
        path,
        shown,
        _versions(document, shown),
        _text(data.get("gpu", ""), "gpu", shown),
        _world_size(data.get("world_size"), shown),
        tuple(_ignores(data.get("ignore"), shown)),
        tuple(_texts(data.get("exclude"), "exclude", shown)),
        _text(data.get("rules"), "rules", shown),
    )


def _shown(path: Path) -> str:
    here = Path.cwd()
    return printable(path.relative_to(here) if path.is_relative_to(here) else path)


def _mapping(value: Any, keys: tuple[str, ...], shown: str, what: str) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{shown}: {what} is no mapping; its keys are {', '.join(keys)}")
    for key in value:
        if key not in keys:
            from .configs.keys_suggest import hint

            near = hint(key, keys, 60)
            raise InputError(f"{shown}: {what} has no key {printable(key, 60)}{near}; there are {', '.join(keys)}")


def _versions(document: Document, shown: str) -> dict[str, str]:
    """Versions as written: 0.10 is no number here."""
    from .store.versions import is_version

    found: dict[str, str] = {}
    for entry in document.entries:
        section, _, package = entry.key.partition(".")
        if section != "versions" or (not package and entry.value in ({}, None)):
            continue
        if not package or not isinstance(entry.value, str | int | float) or not is_version(entry.text):
            raise InputError(f"{shown} line {entry.line}: versions holds package: version, e.g. verl: 0.8.0")
        found[package.lower().replace("_", "-")] = entry.text
    return found


def _world_size(value: Any, shown: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise InputError(f"{shown}: world_size is {printable(value, 40)}; it is a number of GPUs, at least 1")


def _text(value: Any, key: str, shown: str) -> str:
    if value is None or isinstance(value, str):
        return (value or "").strip()
    raise InputError(f"{shown}: {key} is {printable(value, 40)}; it is a text")


def _texts(value: Any, key: str, shown: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip("/ ") for item in value):
        raise InputError(f"{shown}: {key} is a list of texts")
    return [item.strip().removeprefix("./").rstrip("/") for item in value]


def _ignores(value: Any, shown: str) -> Iterable[Ignore]:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > MAX_IGNORED_RULES:
        raise InputError(f"{shown}: ignore is a list of rule, reason, until (at most {MAX_IGNORED_RULES})")
    for number, item in enumerate(value, 1):
        what = f"ignore entry {number}"
        _mapping(item, _IGNORE_KEYS, shown, what)
        rule, reason, until = (_text(str(item[key]) if key in item else "", key, shown) for key in _IGNORE_KEYS)
        if not rule or not reason or not until:
            raise InputError(f"{shown}: {what} needs rule, reason and until (a date, e.g. 2027-03-31)")
        try:
            yield Ignore(rule, reason, date.fromisoformat(until))
        except ValueError:
            raise InputError(f"{shown}: {what}: until is {printable(until, 40)}, no date like 2027-03-31") from None


def _require_rule(rule: str, own: set[str], what: str) -> None:
    from .configs.keys_suggest import hint
    from .store.index import index

    known = {entry["id"] for group in ("rules", "bug_rules") for entry in index()[group]} | set(index()["lints"]) | own
    if rule not in known:
        raise InputError(f"{what}: no rule {printable(rule, 80)}{hint(rule, known, 60)}; `grpo-guard rules` lists them")


def _own_rules(stated: ProjectFile, top: Path) -> tuple[dict[str, Any], ...]:
    name = stated.rules_folder
    if not name:
        return ()
    from .own_rules import read_rules

    try:
        folder = (stated.path.parent / name).resolve()
        inside = folder.is_relative_to(top) and folder.is_dir()
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not inside:
        raise InputError(f"{stated.shown}: rules: {printable(name, 120)} is no folder inside the project")
    return read_rules(folder, top)
