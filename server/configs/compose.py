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


@dataclass(slots=True)
class ConfigFile(Document):
    """A config group's file; `package` is what its `# @package` comment says."""

    package: str | None = None


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
                read = read_yaml(text, str(candidate))
                self.texts[path] = ConfigFile(
                    read.path, read.format, read.entries, read.data, read.lints, package=_package_header(text)
                )
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

    @property
    def is_self(self) -> bool:
        return self.group is None and self.name == _SELF

    @property
    def refers(self) -> bool:
        """Whether the option depends on another choice."""
        return "${" in str(self.name)


_Layer = tuple[Document, str]  # a document and the package that it goes to


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
        for document, package in self._layers(self.primary, "", "", 0):
            self._merge(document, package)
        result = self.result
        result.entries = list(_entries(self.tree))
        result.data = _data(self.tree) if isinstance(self.primary.data, dict) else self.primary.data
        result.choices = dict(self.choices)
        return result

    def _layers(self, document: Document, group: str, package: str, depth: int) -> list[_Layer]:
        """What to merge for this document, weakest first: its defaults and itself, in the order of its list."""
        self.layers += 1
        if depth > MAX_DEPTH or self.layers > _MAX_LAYERS:
            self._note("the defaults lists nest too deeply (a cycle?); the rest is not read")
            return []
        defaults = document.data.get("defaults") if isinstance(document.data, dict) else None
        files = [defaults] if isinstance(defaults, str) else defaults if isinstance(defaults, list) else []
        if files and (isinstance(defaults, str) or all(map(_is_file_name, files))):
            parents = [layer for name in files for layer in self._parent_file(document, str(name), depth)]
            return [*parents, (document, package)]
        items = [item for item in map(_parse_default, files) if item is not None]
        for item in items:
            if item.override:
                self.overrides.setdefault(_override_key(item, group, package), item.name)
        if not any(item.is_self for item in items):
            items.append(_Default(None, _SELF))
        return self._layers_of_items(document, [item for item in items if not item.override], group, package, depth)

    def _layers_of_items(
        self, document: Document, items: list[_Default], group: str, package: str, depth: int
    ) -> list[_Layer]:
        """As Hydra does it: from the last item to the first, so that an `override` in a later config reaches earlier
        ones, and options that refer to other choices (`${model_engine}_actor`) when all others are known."""
        found: dict[int, list[_Layer]] = {}
        order = sorted(range(len(items)), key=lambda index: (items[index].refers, -index))
        for index in order:
            item = items[index]
            found[index] = [(document, package)] if item.is_self else self._default(item, group, package, depth)
        return [layer for index in sorted(found) for layer in found[index]]

    def _default(self, item: _Default, group: str, package: str, depth: int) -> list[_Layer]:
        place = _package(item, package)
        if item.group is None:
            folder, _, name = str(item.name).rpartition("/")
            absolute = str(item.name).startswith("/")
            return self._config(_path(folder, group, absolute), self._filled(name), place, item, depth)
        path = _path(item.group, group)
        option = self.overrides.get(_override_key(item, group, package), item.name)
        names = [name for name in (option if isinstance(option, list) else [option]) if name not in (None, "null")]
        layers = []
        for name in names:
            self.choices[path] = filled = self._filled(str(name))
            layers += self._config(path, filled, place, item, depth)
        return layers

    def _config(self, group: str, name: str, package: str, item: _Default, depth: int) -> list[_Layer]:
        full = f"{group}/{name}" if group else name
        parent = self._load(full)
        if parent is None:
            if not item.optional:
                self._missing(full)
            return []
        header = parent.package if isinstance(parent, ConfigFile) else None
        if item.package is None and header is not None and header != "_group_":
            package = _after_global(f"_global_.{header}")
        return self._layers(parent, group, package, depth + 1)

    def _parent_file(self, document: Document, name: str, depth: int) -> list[_Layer]:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document.path.replace("\\", "/")), name))
        parent = self._load(path)
        if parent is None:
            self._missing(name)
            return []
        return self._layers(parent, "", "", depth + 1)

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
        if not prefix and isinstance(document.data, dict):
            for key, value in document.data.items():
                if isinstance(value, dict) and value.get("_override_"):  # NeMo-RL: this section starts anew
                    self.tree.pop(key, None)
        for entry in document.entries:
            if entry.key == "defaults" or entry.key.startswith("defaults."):
                continue
            if entry.key.endswith("._override_"):
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
