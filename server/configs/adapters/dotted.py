"""Runs whose settings are one tree: the framework's defaults, below the user's YAML, below dotted overrides.

References (`${a.b}`, and the resolvers that a framework registers) are followed once, over the whole tree. Nothing of
the user's project is executed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..interpolation import Resolvers, interpolate
from ..keys import MISSING, KeyTable
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting, UnknownKey
from ..values import Entry, Unresolved
from .common import FieldMap, Options, explicit_settings, start_run

_MAX_PARTS = 40  # levels of a key that are followed
_MAX_EXPLAINED = 200  # unknown keys for which similar names are looked up; more of them are no slips of the pen


class SettingsTree:
    """What is in force: `value(key)`, and `given(key)` for what the user wrote. Made once, never changed."""

    def __init__(
        self, run: RunConfig, table: KeyTable, entries: Iterable[Entry], resolvers: Resolvers | None = None
    ) -> None:
        entries = list(entries)
        run.native = explicit_settings(entries, run.lints)
        self.table = table
        self._given = run.native
        tree = _defaults(table, {entry.key for entry in entries if entry.value is not None})
        for entry in entries:
            _put(tree, entry.key, MISSING if entry.op == "~" else _text_of(entry.value))
        self._tree: Any = interpolate(tree, resolvers)

    def value(self, key: str) -> Any:
        """The value in force; MISSING where nothing sets one. Below a section that is null, null."""
        node = self._tree
        for part in key.split("."):
            if node is None or isinstance(node, Unresolved):
                return node
            if not isinstance(node, dict) or part not in node:
                return MISSING
            node = node[part]
        return node

    def given(self, key: str) -> Setting | None:
        """What the user wrote at the key, at a section above it that was set as a whole, or below it; the value is the
        one in force at the key itself."""
        parts = key.split(".")
        for length in range(len(parts), 0, -1):
            setting = self._given.get(".".join(parts[:length]))
            if setting is None:
                continue
            value = self.value(key)
            if length == len(parts):
                return replace(setting, value=None if value is MISSING else value)
            inside = isinstance(setting.value, dict) and parts[length] in setting.value
            if inside or setting.value is None or isinstance(setting.value, Unresolved):
                return replace(setting, value=None if value is MISSING else value)
        below = next((setting for name, setting in self._given.items() if name.startswith(key + ".")), None)
        return replace(below, key=key, value=self.section(key)) if below is not None and self.section(key) else None

    def section(self, key: str) -> dict[str, Any]:
        """A section as a dictionary, {} when there is none."""
        found = self.value(key)
        return found if isinstance(found, dict) else {}

    def number(self, key: str) -> int | None:
        """A whole number, None when it is none or not known."""
        found = self.value(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None


def fill_tree(run: RunConfig, fields: FieldMap, tree: SettingsTree, version: str, defaults_known: bool = True) -> None:
    """Canonical fields: of a field's keys the first that the user set, else the default of the first one known.

    A field none of whose keys this version knows is noted in `run.absent`. With `defaults_known` false (the run starts
    from a file that was not found) what the user did not set is unresolved.
    """
    for field, spelled in fields.items():
        keys = [spelled] if isinstance(spelled, str) else list(spelled)
        known = [key for key in keys if tree.table.known(key)]
        run.keys[field] = (known or keys)[0]
        given = next((setting for key in keys if (setting := tree.given(key)) is not None), None)
        if given is not None:
            run.keys[field] = given.key
            run.settings[field] = replace(given, field=field, origin=EXPLICIT)
            continue
        default = next((value for key in known or keys if (value := tree.value(key)) is not MISSING), MISSING)
        if default is not MISSING:
            shown = default if defaults_known else Unresolved("", (run.keys[field],))
            run.settings[field] = Setting(field, run.keys[field], shown, DEFAULT, version=version)
        elif not known:
            run.absent.add(field)
        elif not defaults_known:
            run.settings[field] = Setting(field, run.keys[field], Unresolved("", (run.keys[field],)), DEFAULT)


def judge_keys(
    run: RunConfig,
    table: KeyTable,
    entries: Iterable[Entry],
    stated: str | None,
    stops: bool,
    sections: tuple[str, ...] = (),
    plus_adds: bool = False,
    extended: bool = False,
) -> None:
    """Keys that the framework does not know, into `run.unknown_keys`.

    Without a stated version only those that no release has. stops: whether the framework ends at start-up on one.
    sections: beginnings of the keys that are judged; () for all. plus_adds: whether a leading + may add any key.
    extended: the program may declare keys of its own, so that only those of other releases are known to be wrong.
    """
    exact = stated is not None and table.exact
    for entry in entries:
        key = entry.key
        if key.startswith(("-", "hydra.")) or "@" in key or "$" in key or (sections and not key.startswith(sections)):
            continue
        if plus_adds and entry.op in ("+", "++"):
            continue
        life = table.lifecycle(key)
        if table.known(key) or (not exact and life is not None) or (extended and life is None):
            continue
        if len(run.unknown_keys) < _MAX_EXPLAINED:
            reason = table.explain_unknown(key)
            meant, note, new_name = list(reason.did_you_mean), reason.note, reason.new_name
        else:
            meant, note, new_name = [], "", ""
        run.unknown_keys.append(UnknownKey(key, entry.file, entry.line, meant, note, exact and stops, new_name))


def config_parts(run: RunConfig, parts: list[Part], options: Options, flag: str = "--config") -> tuple[list[Part], str]:
    """The config files of a run, and the name that its launch gives: those handed in, else the one the launch names."""
    launch = launch_of(parts)
    named = launch.last(flag) if launch is not None else None
    name = "" if named is None else _plain(named)
    files = [part for part in parts if part.format in ("yaml", "json")]
    if files or not name or launch is None or options.load is None:
        return files, name
    for place in dict.fromkeys((name, re.sub(r"^(?:\$\{?[^}/]*\}?|\$\([^)]*\))/*", "", name))):
        if loaded := options.load(place, launch.path):
            run.sources += start_run(run.framework, loaded, options).sources
            run.notes += [note for part in loaded for note in part.notes]
            return loaded, name
    return [], name


def launch_of(parts: Iterable[Part]) -> Part | None:
    """The launch among the parts: the last one, which a launcher before it starts."""
    return next((part for part in reversed(list(parts)) if part.format == "shell"), None)


def overrides_of(launch: Part | None) -> list[Entry]:
    """The key=value words of a launch."""
    return [entry for entry in (launch.entries if launch else []) if not entry.key.startswith("-")]


def stem(name: str) -> str:
    """The bare name of a config file: "../../grpo_math_1B.yaml" -> "grpo_math_1B"."""
    return posixpath.basename(str(name).replace("\\", "/")).removesuffix(".yaml").removesuffix(".yml")


def parents_of(part: Part) -> list[str]:
    """Parents of a config's `defaults:` that were not read: missing ones, or all where nothing was followed."""
    if part.bases or not isinstance(part.data, Mapping):
        return list(part.bases)
    named = part.data.get("defaults")
    if isinstance(named, str):
        return [named]
    return [name for name in named if isinstance(name, str) and name != "_self_"] if isinstance(named, list) else []


def _plain(entry: Entry) -> str:
    value = entry.value
    return value.text or entry.key if isinstance(value, Unresolved) else str(value)


def _text_of(value: Any) -> Any:
    """A value in which only references are open, as its text, so that they can be followed."""
    open_only = isinstance(value, Unresolved) and value.names and all(name.startswith("${") for name in value.names)
    return value.text if open_only else value


def _defaults(table: KeyTable, given: set[str]) -> dict[str, Any]:
    """The table's defaults as a tree. Below a section that is null by default they count once the user opens it."""
    keys = list(table)
    shut = {key for key in keys if table.is_section(key) and table.default(key) is None}
    opened = {key for key in shut if any(name == key or name.startswith(key + ".") for name in given)}
    shut -= opened
    tree: dict[str, Any] = {}
    for key in sorted(keys, key=lambda name: name.count(".")):
        if key in opened or any(key.startswith(section + ".") for section in shut):
            continue
        if (default := table.default(key)) is not MISSING:
            _put(tree, key, default)
    return tree


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set one key; a mapping merges into a mapping, anything else replaces. MISSING takes the key out."""
    *branch, leaf = key.split(".", _MAX_PARTS)
    node = tree
    for part in branch:
        child = node.get(part)
        if not isinstance(child, dict):
            child = node[part] = {}
        node = child
    if value is MISSING:
        node.pop(leaf, None)
    elif isinstance(value, dict):
        if not isinstance(node.get(leaf), dict):
            node[leaf] = {}
        for name, inner in value.items():
            _put(node[leaf], str(name).replace(".", "_"), inner)
    else:
        node[leaf] = value
