"""One keys.json file: change points per key, and their state at one version.

    "tables": {table: {key: [[version, default], ..., [version]]}}     a point of length 1: removed in that version
    "first":  {table: version}       for a table that starts later than the first version
    "last":   {table: version}       for a table that ends before the last version
    "like":   {table: other}         a key that is not listed behaves as in the other table (within those limits);
                                     an empty list: the key never existed here
"types", "choices": like "tables".   "aliases": {table: {alias: key}}.   "open": {table: [prefix]}, anything below goes.
"strict": unknown keys stop the run; otherwise "closed" (like "tables") names the sections where they do, "" being the
top level.   "abbreviations": the parser takes unique beginnings of names.
"renames", "derived": copies of renames.yaml and derived_defaults.yaml beside the file.
scripts/extract_keys.py writes the files.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..paths import data_dir
from ..store.versions import is_development, parse
from .values import InputError

History = list[list[Any]]
"""Change points [version, default], ascending; [version] alone: removed in that version."""


class KeyData:
    """One keys.json file."""

    def __init__(self, framework: str, content: Mapping[str, Any]) -> None:
        self.framework = framework
        self.package: str = content["package"]
        self.versions: list[str] = content["versions"]
        self.tables: dict[str, dict[str, History]] = content["tables"]
        self.first: dict[str, str] = content.get("first", {})
        self.last: dict[str, str] = content.get("last", {})
        self.like: dict[str, str] = content.get("like", {})
        self.open: dict[str, list[str]] = content.get("open", {})
        self.renames: list[dict[str, Any]] = content.get("renames", [])
        self.derived: dict[str, list[dict[str, Any]]] = content.get("derived", {})
        self.strict: bool = content.get("strict", False)
        self.abbreviations: bool = content.get("abbreviations", False)
        self._content = content
        self._order = {version: index for index, version in enumerate(self.versions)}

    @property
    def newest(self) -> str:
        """The newest version that is no development build: what is assumed when none is given."""
        return next(version for version in reversed(self.versions) if not is_development(version))

    def nearest(self, version: str | None) -> tuple[int, bool, str]:
        """(index of the version to use, whether it is the one asked for, why not)."""
        newest = len(self.versions) - 1
        if version is None:
            released = self._order[self.newest]
            return released, False, f"no {self.package} version given: {self.newest}, the newest known, is assumed"
        index = bisect_right(self.versions, parse(version), key=parse) - 1
        if index < 0:
            oldest = self.versions[0]
            return 0, False, f"{self.package} {version} is older than the data; keys of {oldest} are used"
        used = self.versions[index]
        if parse(used) == parse(version):
            return index, True, ""
        if index == newest:
            return index, False, f"{self.package} {version} is newer than the data; keys of {used} are used"
        after = self.versions[index + 1]
        return index, False, f"{self.package} {version} lies between {used} and {after}; keys of {used} are used"

    def start(self, table: str) -> int:
        return self._order[self.first[table]] if table in self.first else 0

    def end(self, table: str) -> int:
        return self._order[self.last[table]] if table in self.last else len(self.versions) - 1

    def kind(self, kind: str, table: str) -> dict[str, History]:
        found: dict[str, History] = self._content.get(kind, {}).get(table, {})
        return found

    def aliases(self, table: str) -> dict[str, str]:
        found: dict[str, str] = self._content.get("aliases", {}).get(table, {})
        return found

    def state(self, kind: str, table: str, index: int) -> dict[str, Any]:
        """The keys of a table at one version."""
        if not self.start(table) <= index <= self.end(table):
            return {}
        histories = self.kind(kind, table)
        if table in self.like:
            histories = {**self.kind(kind, self.like[table]), **histories}
        found: dict[str, Any] = {}
        for key, history in histories.items():
            point = self.point(history, index)
            if point:
                found[key] = point[1]
        return found

    def point(self, history: History, index: int) -> list[Any] | None:
        """The change point in force at a version; None when the key does not exist there."""
        order = self._order
        current = None
        for point in history:
            if order[point[0]] > index:
                break
            current = point
        return current if current is not None and len(current) == 2 else None

    def has(self, table: str, key: str, index: int) -> bool:
        return self.start(table) <= index <= self.end(table) and self.point(self.history(table, key), index) is not None

    def history(self, table: str, key: str) -> History:
        """The key's change points as this table sees them; empty when it never had the key."""
        history = self.tables[table].get(key)
        if history is None and table in self.like:
            history = self._inherited(table, self.tables[self.like[table]].get(key, []))
        gone = self.end(table) + 1
        if history and len(history[-1]) == 2 and gone < len(self.versions):
            return [*history, [self.versions[gone]]]
        return history or []

    def _inherited(self, table: str, history: History) -> History:
        start, end = self.start(table), self.end(table)
        later = [point for point in history if start < self._order[point[0]] <= end]
        point = self.point(history, start)
        return [[self.versions[start], point[1]], *later] if point else later


@lru_cache(maxsize=16)
def key_data(framework: str) -> KeyData:
    folder = framework.replace("-", "_")
    path = data_dir("knowledge") / "frameworks" / folder / "keys.json"
    if not folder.isidentifier() or not path.is_file():
        raise InputError(f"no key tables for framework {framework[:60]!r}")
    return KeyData(framework, json.loads(path.read_bytes()))


def moved(key: str, old: str, new: str) -> str | None:
    """The key's name after `old` became `new`; both may end in ".*" and then stand for everything below."""
    if old.endswith(".*") and new.endswith(".*"):
        return new[:-1] + key[len(old) - 1 :] if key.startswith(old[:-1]) else None
    return new if key == old else None
