"""Which keys a framework knows at a version, and their defaults: knowledge/frameworks/<name>/keys.json, read lazily.

The files hold change points per key (keys_data.py describes the form); a `KeyTable` is their state at one
version. Nothing of the framework itself is imported.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from ..store.versions import Version, is_version, parse
from .keys_data import History, KeyData, key_data, moved
from .keys_interpolate import resolve
from .keys_suggest import suggest
from .values import InputError, Unresolved


class _Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()
"""No default: the key is unknown, a section, or must be set by the user."""


class Lifecycle(NamedTuple):
    """When a key came and went. A key as old as the data may be older than `added`."""

    added: str | None
    removed: str | None
    changes: tuple[tuple[str, Any], ...]


class UnknownKey(NamedTuple):
    """Why a key is not known, and what may have been meant (best first)."""

    key: str
    did_you_mean: tuple[str, ...]
    note: str
    new_name: str = ""  # the one name that the key has at this version, by the curated list


class KeyTable:
    """The keys of one or several tables of a framework at one version. Made by `load`; never changed afterwards."""

    def __init__(
        self, data: KeyData, tables: Sequence[str], asked: str | None, index: int, exact: bool, note: str,
        below: KeyTable | None,
    ) -> None:  # fmt: skip
        self.framework = data.framework
        self.package = data.package
        self.tables = tuple(tables)
        self.asked = asked  # as the caller gave it
        self.version = data.versions[index]  # whose keys are used
        self.exact = exact  # the version asked for was read itself
        self.note = note  # why it is not exact; "" otherwise
        self.below = below
        self._data = data
        self._index = index
        self._values: dict[str, Any] = {}
        for table in reversed(self.tables):
            self._values.update(data.state("tables", table, index))

    def __iter__(self) -> Iterator[str]:
        """All keys with their own entry, tables below included."""
        yield from self._values
        if self.below is not None:
            yield from (key for key in self.below if key not in self._values)

    def canonical(self, key: str) -> str | None:
        """The key's own name: aliases are followed, and unique abbreviations where the framework's parser takes them.

        None when no entry of that name exists (sections and keys inside open dictionaries have none).
        """
        if key in self._values:
            return key
        for table in self.tables:
            if (target := self._data.aliases(table).get(key)) in self._values:
                return target
        if self.below is not None and (found := self.below.canonical(key)):
            return found
        if self._data.abbreviations and key:
            aliases = {alias: name for table in self.tables for alias, name in self._data.aliases(table).items()}
            spelled = {**aliases, **{name: name for name in self._values}}
            longer = {name for spelling, name in spelled.items() if spelling.startswith(key) and name in self._values}
            return longer.pop() if len(longer) == 1 else None
        return None

    def exists(self, key: str) -> bool:
        """Whether the key has an entry of its own; Hydra overrides such a key without a leading "+"."""
        return self.canonical(key) is not None

    def known(self, key: str) -> bool:
        """Whether the framework accepts the key: an entry, alias or section, or anything inside an open dictionary."""
        return self.exists(key) or self.is_section(key) or self.is_open(key)

    def is_section(self, key: str) -> bool:
        """Whether other keys lie below this one."""
        return key in self._sections or (self.below is not None and self.below.is_section(key))

    def is_open(self, key: str) -> bool:
        """Whether the key is, or lies inside, a dictionary that takes any sub-key."""
        parts = key.split(".")
        ancestors = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
        if any(ancestor in self._open_prefixes for ancestor in ancestors):
            return True
        if any(self._takes_any_key(ancestor) for ancestor in ancestors if ancestor in self._values):
            return True
        return self.below is not None and self.below.is_open(key)

    def rejects_unknown(self, key: str) -> bool:
        """Whether an unknown key at this place stops the run; False where the framework ignores it silently."""
        closed = {section for table in self.tables for section in self._data.state("closed", table, self._index)}
        inside = any(key.startswith(section + ".") if section else "." not in key for section in closed)
        return self._data.strict or inside

    def required(self, key: str) -> bool:
        """Whether the user must set the key (no default; "???" in Hydra)."""
        return bool(self._raw(key) == {"required": True})

    def default(self, key: str) -> Any:
        """What holds while the key is unset: the declared default, or what code is known to fill in for it.

        Interpolations stay text ("${a.b}"); what only the run decides is an `Unresolved` that says how.
        """
        filled = self._filled_in(key)
        if filled is None:
            return self.declared(key)
        return filled["value"] if "value" in filled else Unresolved(str(filled["expr"]))

    def declared(self, key: str) -> Any:
        """The default as the declaration has it, before any code runs; code in its place is an `Unresolved`."""
        raw = self._raw(key)
        if raw is MISSING or raw == {"required": True}:
            return MISSING
        if isinstance(raw, dict) and list(raw) == ["expr"]:
            return Unresolved(raw["expr"])
        return copy.deepcopy(raw) if isinstance(raw, (dict, list)) else raw

    def resolved_default(self, key: str, overrides: Mapping[str, Any] | None = None) -> Any:
        """The default with interpolations followed through `overrides` (what the user set) and the other defaults.

        `Unresolved` where an environment variable, a resolver or an unknown value decides; MISSING as in `default`.
        """
        return self.follow(key, self.default(key), overrides)

    def follow(self, key: str, value: Any, overrides: Mapping[str, Any] | None = None) -> Any:
        """`value`, written at `key`, with its interpolations followed in the same way."""
        return resolve(key, value, overrides or {}, self._lookup)

    def type(self, key: str) -> str:
        """The plain types the source declares, e.g. "bool" or "dict|str"; "" when it declares none."""
        found = self._of_kind("types", key)
        return found if isinstance(found, str) else ""

    def choices(self, key: str) -> tuple[Any, ...]:
        """The allowed values where the source lists them; () otherwise."""
        found = self._of_kind("choices", key)
        return tuple(found) if isinstance(found, list) else ()

    def replacement(self, key: str) -> tuple[str, ...]:
        """The current names of a key that is known but has been renamed; () when it is its own current name."""
        for entry in self._data.renames:
            if entry["old"] == key and "accepted_until" in entry and parse(entry["version"]) <= self._parsed:
                return tuple(new for new in entry["new"] if self.known(new))
        return self.below.replacement(key) if self.below is not None else ()

    def lifecycle(self, key: str) -> Lifecycle | None:
        """When the key came, went and changed: in the loaded tables, else in the framework's others, else below."""
        others = [table for table in self._data.tables if table not in self.tables]
        for table in (*self.tables, *others):
            if history := self._data.history(table, key):
                return _lifecycle(history)
        return self.below.lifecycle(key) if self.below is not None else None

    def explain_unknown(self, key: str) -> UnknownKey:
        """For a key that is not `known`: curated renames first, then its life in other versions, then similar names."""
        for table in (self, self.below):
            if table is not None and (renamed := table._renamed(self, key)):
                return renamed
        similar = tuple(suggest(key, list(self)))
        return UnknownKey(key, similar, self._history_note(key))

    # -- inside --

    @cached_property
    def _parsed(self) -> Version:
        return parse(self.version)

    @cached_property
    def _sections(self) -> frozenset[str]:
        found: set[str] = set()
        aliases = (alias for table in self.tables for alias in self._data.aliases(table))
        for key in (*self._values, *aliases):
            end = key.rfind(".")
            while end > 0 and (prefix := key[:end]) not in found:
                found.add(prefix)
                end = key.rfind(".", 0, end)
        return frozenset(found)

    @cached_property
    def _open_prefixes(self) -> frozenset[str]:
        return frozenset(prefix for table in self.tables for prefix in self._data.open.get(table, ()))

    def _takes_any_key(self, key: str) -> bool:
        raw = self._values[key]
        if raw == {} or "dict" in self.type(key).split("|"):
            return True
        return isinstance(raw, str) and raw.startswith("${") and isinstance(self.resolved_default(key), dict)

    def _raw(self, key: str) -> Any:
        name = self.canonical(key)
        if name is None:
            return MISSING
        if name in self._values:
            return self._values[name]
        return self.below._raw(name) if self.below is not None else MISSING

    def _of_kind(self, kind: str, key: str) -> Any:
        name = self.canonical(key)
        if name not in self._values:
            return self.below._of_kind(kind, key) if self.below is not None else None
        for table in self.tables:
            history = self._data.kind(kind, table).get(name)
            if history and (point := self._data.point(history, self._index)):
                return point[1]
        return None

    def _lookup(self, key: str) -> Any:
        """A default by absolute path for interpolations; a section is the dictionary of what lies below it."""
        if self.exists(key) or not self.is_section(key):
            return self.default(key)
        section: dict[str, Any] = {}
        for name in self:
            if name.startswith(key + "."):
                _put(section, name[len(key) + 1 :].split("."), self.default(name))
        return section

    def _filled_in(self, key: str) -> dict[str, Any] | None:
        """The entry of derived_defaults.yaml that holds for the key at this version."""
        name = self.canonical(key)
        if name not in self._values:
            return self.below._filled_in(key) if self.below is not None else None
        for entry in self._data.derived.get(name, ()):
            since, until = entry.get("since"), entry.get("until")
            if (not since or parse(since) <= self._parsed) and (not until or self._parsed < parse(until)):
                return entry
        return None

    def _renamed(self, top: KeyTable, key: str) -> UnknownKey | None:
        """The answer of the curated list, in either direction, when it fits the version. `top` knows all tables."""
        since, targets = self._followed(top, key)
        if targets:
            verb = "replaced by" if since.get("kind") == "replaced" else "renamed to"
            note = f"{verb} {' and '.join(targets)} in {self.package} {since['version']}"
            certain = len(targets) == 1 and verb == "renamed to"
            return UnknownKey(key, targets, note, targets[0] if certain else "")
        for entry in self._data.renames:
            for new in entry["new"]:
                source = moved(key, new, entry["old"])
                if source and parse(entry["version"]) > self._parsed and top.known(source):
                    note = f"added in {self.package} {entry['version']}; up to then the name is {source}"
                    return UnknownKey(key, (source,), note, "" if entry.get("kind") == "replaced" else source)
        return None

    def _followed(self, top: KeyTable, key: str, hops: int = 5) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The entry and the known names that the key became, through several renames if need be."""
        for entry in self._data.renames:
            names = [name for new in entry["new"] if (name := moved(key, entry["old"], new))]
            known = tuple(name for name in names if top.known(name))
            if known:
                return entry, known
            for name in names if hops else ():
                later, known = self._followed(top, name, hops - 1)
                if known:  # one that was replaced on the way has another meaning by now
                    return {**later, **({"kind": entry["kind"]} if "kind" in entry else {})}, known
        return {}, ()

    def _history_note(self, key: str) -> str:
        life = self.lifecycle(key)
        if life is None or life.added is None:
            first, last = self._data.versions[0], self._data.versions[-1]
            return f"unknown to every {self.package} release from {first} to {last}"
        owner = self if self._in_own_history(key) or self.below is None else self.below
        if parse(life.added) > owner._parsed:
            return f"added in {owner.package} {life.added}"
        if life.removed is not None and parse(life.removed) <= owner._parsed:
            return f"removed in {owner.package} {life.removed}"
        elsewhere = [table for table in owner._data.tables if owner._data.has(table, key, owner._index)]
        if elsewhere:
            return f"exists only in {_table_label(elsewhere)}"
        return f"not in {owner.package} {owner.version}; it existed from {life.added} on, with gaps"

    def _in_own_history(self, key: str) -> bool:
        return any(self._data.history(table, key) for table in self._data.tables)


def load(framework: str, tables: Sequence[str], version: str | None = None, below: KeyTable | None = None) -> KeyTable:
    """The keys of the framework's tables at a version; an earlier table wins over a later one.

    version None: the newest version read. A version that was not read takes the nearest one at or below it (the oldest
    when there is none); `exact` and `note` say so. `below` is another package's table whose keys show through, e.g.
    transformers' TrainingArguments below TRL's GRPOConfig.
    Raises InputError for a framework without data, an unknown table, or a text that is no version.
    """
    data = key_data(framework)
    if unknown := [table for table in tables if table not in data.tables]:
        raise InputError(f"{framework} has no key table {', '.join(unknown)}; it has {', '.join(data.tables)}")
    if version is not None and not is_version(version):
        raise InputError(f"{version[:60]!r} is no {framework} version; write it like {data.versions[-1]}")
    index, exact, note = data.nearest(version)
    notes = [note] if note else []
    for table in tables:
        if index < data.start(table):
            notes.append(f"{_table_label([table])} starts at {data.package} {data.first[table]}")
        elif index > data.end(table):
            notes.append(f"{_table_label([table])} ends with {data.package} {data.last[table]}")
    note = "; ".join(notes)
    return KeyTable(data, tables, version, index, exact, note, below)


def versions(framework: str) -> tuple[str, ...]:
    """The versions of the framework that were read, ascending. Raises InputError for a framework without data."""
    return tuple(key_data(framework).versions)


def _lifecycle(history: History) -> Lifecycle:
    changes = tuple((point[0], point[1]) for point in history if len(point) == 2)
    removed = history[-1][0] if len(history[-1]) == 1 else None
    return Lifecycle(changes[0][0] if changes else None, removed, changes)


def _put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    tree[path[-1]] = value


def _table_label(tables: Sequence[str]) -> str:
    """Tables in words: verl has one per training engine."""
    engines = [match[1] or "fsdp" for table in tables if (match := re.fullmatch(r"ppo_(?:(\w+)_)?trainer", table))]
    if len(engines) == len(tables):
        return f"the {' and '.join(engines)} engine table{'s' * (len(engines) > 1)}"
    return " and ".join(tables)
