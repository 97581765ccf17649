"""Hydra's `defaults:` list and NeMo-RL's `defaults: path`, put together from the files of the project alone.

What a defaults list takes from an installed package (verl's own `ppo_trainer`, say) is not in the project; it is named
in `ComposedDocument.missing`, and the settings of the project's files still apply on top.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..limits import MAX_DEPTH, MAX_INCLUDES
from .files import printable, read_text
from .values import Document, Entry, InputError
from .yaml_text import read_yaml

Loader = Callable[[str], Document | None]

_SELF = "_self_"
_MAX_LAYERS = 10 * MAX_INCLUDES  # one file may be used in several places
_HEADER = re.compile(r"#\s*@package\s+(\S+)")
_CHOICE = re.compile(r"\$\{([^${}:]+)\}")


@dataclass(slots=True)
class ComposedDocument(Document):
    """A document with its defaults applied. Every entry keeps the file and line where it is written.

    missing: names in defaults lists that are not in the project (`ppo_trainer`, `actor/dp_actor`).
    files: the files that were read, the document's own first. choices: group → option that was taken.
    """

    missing: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    choices: dict[str, str] = field(default_factory=dict)


class ProjectLoader:
    """Reads `group/name` for `compose`, only from regular files inside the project folder.

    In: the project folder and the primary document; its own folder and the `hydra.searchpath` entries that lie in
    the project (`file://dir`, `pkg://a.b` as folder a/b) are searched, in that order.
    """

    def __init__(self, root: Path, document: Document) -> None:
        self.root = root.resolve()
        self.outside: list[str] = []  # search path entries that are not in the project
        self.texts: dict[Path, Document] = {}
        self.folders = [Path(document.path).parent, *self._search_path(document)]

    def __call__(self, name: str) -> Document | None:
        """The document of that name, None if the project has none. Raises InputError if it cannot be read."""
        for candidate in self._candidates(name):
            try:
                path = candidate.resolve()
                if not (path.is_relative_to(self.root) and path.is_file()):
                    continue
            except (OSError, ValueError, RuntimeError):  # unreadable folder, NUL in a name, loop of links
                continue
            if path not in self.texts:
                if len(self.texts) >= MAX_INCLUDES:
                    raise InputError(
                        f"{printable(name)}: more than {MAX_INCLUDES} files in one config; name the composed file"
                    )
                text = read_text(path)
                self.texts[path] = read_yaml(text, str(candidate))
                header = _package_header(text)
                if header is not None:
                    self.texts[path].notes.append(f"@package {header}")
            return self.texts[path]
        return None

    def _candidates(self, name: str) -> Iterator[Path]:
        if name.endswith((".yaml", ".yml")):
            yield Path(name)
            yield from (folder / name for folder in self.folders)
        else:
            for folder in self.folders:
                yield folder / f"{name}.yaml"
                yield folder / f"{name}.yml"

    def _search_path(self, document: Document) -> Iterator[Path]:
        hydra = document.data.get("hydra") if isinstance(document.data, dict) else None
        entries = hydra.get("searchpath") if isinstance(hydra, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            kind, found, place = str(entry).partition("://")
            place = place.replace(".", "/") if kind == "pkg" else place
            folder = self.root / place if found else self.root / str(entry)
            if folder.is_dir():
                yield folder
            else:
                self.outside.append(str(entry))


def compose(document: Document, loader: Loader, choices: Mapping[str, str] | None = None) -> ComposedDocument:
    """Apply the document's `defaults`.

    In: the primary document, a loader for `group/name` or a relative path, and group choices from the command line
    (`{"model_engine": "megatron"}`). Out: a new document; without `defaults` it equals the given one.
    A parent that is missing, unreadable, or beyond the caps becomes a note; nothing is raised.
    """
    return _Composition(document, loader, dict(choices or {})).run()


@dataclass(slots=True)
class _Default:
    """One line of a defaults list."""

    group: str | None  # None: a config given by path
    name: Any
    package: str | None = None
    optional: bool = False
    override: bool = False


class _Composition:
    def __init__(self, document: Document, loader: Loader, choices: dict[str, str]) -> None:
        self.primary = document
        self.loader = loader
        self.overrides = choices
        self.choices: dict[str, str] = {}
        self.layers = 0
        self.tree: dict[str, Any] = {}  # nested mappings whose leaves are Entry
        self.result = ComposedDocument(
            document.path,
            document.format,
            lints=list(document.lints),
            notes=list(document.notes),
            files=[document.path],
        )

    def run(self) -> ComposedDocument:
        self._add(self.primary, "", "", 0)
        result = self.result
        result.entries = list(_entries(self.tree))
        result.data = _data(self.tree) if isinstance(self.primary.data, dict) else self.primary.data
        result.choices = dict(self.choices)
        return result

    def _add(self, document: Document, group: str, package: str, depth: int) -> None:
        """The document's defaults and its own settings, in the order of its defaults list."""
        self.layers += 1
        if depth > MAX_DEPTH or self.layers > _MAX_LAYERS:
            self._note("the defaults lists nest too deeply (a cycle?); the rest is not read")
            return
        defaults = document.data.get("defaults") if isinstance(document.data, dict) else None
        if isinstance(defaults, str) or (isinstance(defaults, list) and all(map(_is_file_name, defaults)) and defaults):
            for name in [defaults] if isinstance(defaults, str) else defaults:
                self._add_parent_file(document, name, depth)
            self._merge(document, package)
            return
        items = [_parse_default(item) for item in defaults] if isinstance(defaults, list) else []
        known = [item for item in items if item is not None]
        self._take_overrides(known, group, package)
        if not any(item.name == _SELF and item.group is None for item in known):
            known.append(_Default(None, _SELF))
        for item in known:
            if item.group is None and item.name == _SELF:
                self._merge(document, package)
            elif not item.override:
                self._add_default(item, group, package, depth)

    def _take_overrides(self, items: list[_Default], group: str, package: str) -> None:
        for item in items:
            if item.group is None:
                continue
            key = _override_key(item, group, package)
            if item.override:
                self.overrides.setdefault(key, item.name)
            else:
                # Known before the list is walked: `${model_engine}_actor` may stand above `model_engine: dp`.
                self.choices[_path(item.group, group)] = str(self.overrides.get(key, item.name))

    def _add_default(self, item: _Default, group: str, package: str, depth: int) -> None:
        path = item.name if item.group is None else item.group
        own_package = _package(item, package)
        if item.group is None:
            folder, _, name = str(item.name).rpartition("/")
            self._add_config(_path(folder, group, str(path).startswith("/")), name, own_package, item, depth)
            return
        option = self.overrides.get(_override_key(item, group, package), item.name)
        for name in option if isinstance(option, list) else [option]:
            if name is None or name == "null":
                continue
            self._add_config(_path(item.group, group), self._filled(str(name)), own_package, item, depth)

    def _add_config(self, group: str, name: str, package: str | None, item: _Default, depth: int) -> None:
        full = f"{group}/{name}" if group else name
        parent = self._load(full)
        if parent is None:
            if not item.optional:
                self._missing(full)
            return
        header = next((note[9:] for note in parent.notes if note.startswith("@package ")), None)
        if item.package is None and header is not None and header != "_group_":
            package = _after_global(f"_global_.{header}")
        self._add(parent, group, package or "", depth + 1)

    def _add_parent_file(self, document: Document, name: Any, depth: int) -> None:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document.path.replace("\\", "/")), str(name)))
        parent = self._load(path)
        if parent is None:
            self._missing(str(name))
        else:
            self._add(parent, "", "", depth + 1)

    def _load(self, name: str) -> Document | None:
        try:
            document = self.loader(name)
        except InputError as error:
            self._note(str(error))
            return None
        if document is not None and document.path not in self.result.files:
            self.result.files.append(document.path)
            self.result.lints.extend(document.lints)
        return document

    def _filled(self, name: str) -> str:
        return _CHOICE.sub(lambda match: self.choices.get(match[1].strip(), match[0]), name)

    def _missing(self, name: str) -> None:
        shown = printable(name, 80)
        if shown not in self.result.missing:
            self.result.missing.append(shown)
            self._note(f"`{shown}` of the defaults list is not in the project; its settings are not known here")

    def _note(self, note: str) -> None:
        if note not in self.result.notes and len(self.result.notes) < MAX_INCLUDES:
            self.result.notes.append(note)

    # -- merging -------------------------------------------------------------------------------------------------

    def _merge(self, document: Document, package: str) -> None:
        """Own settings over what is there: mappings merge, anything else replaces."""
        prefix = package.split(".") if package else []
        for entry in document.entries:
            if entry.key == "defaults" or entry.key.startswith("defaults."):
                continue
            *branch, leaf = [*prefix, *entry.key.split(".")]
            table = self.tree
            for part in branch:
                child = table.get(part)
                if not isinstance(child, dict):
                    child = table[part] = {}
                table = child
            if isinstance(entry.value, dict) and not entry.value and isinstance(table.get(leaf), dict):
                continue  # an empty mapping adds nothing to a mapping
            key = ".".join((*branch, leaf))
            table[leaf] = Entry(key, entry.value, entry.file, entry.line, entry.op, entry.text)


def _parse_default(item: Any) -> _Default | None:
    if isinstance(item, str):
        name, _, package = item.partition("@")
        optional = name.startswith("optional ")
        return _Default(None, name.removeprefix("optional ").strip().removesuffix(".yaml"), package or None, optional)
    if not isinstance(item, dict) or len(item) != 1:
        return None
    (words, option), *_ = item.items()
    *flags, target = str(words).split() or [""]
    group, at, package = target.partition("@")
    name = option.removesuffix(".yaml") if isinstance(option, str) else option
    return _Default(group, name, package if at else None, "optional" in flags, "override" in flags)


def _is_file_name(item: Any) -> bool:
    """NeMo-RL names parents by file; Hydra names them without the suffix."""
    return isinstance(item, str) and item.endswith((".yaml", ".yml"))


def _path(group: str, parent: str, absolute: bool = False) -> str:
    if absolute or group.startswith("/"):
        return group.lstrip("/")
    return "/".join(part for part in (parent, group) if part)


def _package(item: _Default, parent: str) -> str:
    """Where the config goes: the group's name below the parent's package, or the package after `@`."""
    if item.package is not None:
        place = "" if item.package == "_here_" else item.package
    elif item.group is not None:
        place = item.group.strip("/").replace("/", ".")
    else:
        place = str(item.name).strip("/").rpartition("/")[0].replace("/", ".")
    return _after_global(".".join(part for part in (parent, place) if part))


def _after_global(package: str) -> str:
    return package.rpartition("_global_")[2].lstrip(".")


def _override_key(item: _Default, group: str, package: str) -> str:
    """How the command line names this choice: `group`, or `group@package` when it goes elsewhere than its name says."""
    path = _path(item.group or "", group)
    place = _package(item, package)
    return path if place == path.replace("/", ".") else f"{path}@{place or '_global_'}"


def _package_header(text: str) -> str | None:
    for line in text.split("\n", 20)[:20]:
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            return None
        match = _HEADER.match(stripped)
        if match is not None:
            return match[1]
    return None


def _entries(tree: dict[str, Any]) -> Iterator[Entry]:
    for value in tree.values():
        if isinstance(value, dict):
            yield from _entries(value)
        else:
            yield value


def _data(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: _data(value) if isinstance(value, dict) else value.value for key, value in tree.items()}
