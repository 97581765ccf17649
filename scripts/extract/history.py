"""From one table per version to change points per key, and back (form: server/configs/keys_data.py)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .source import Field

History = list[list[Any]]
Keys = dict[str, Any]
KINDS = ("tables", "types", "choices", "closed")


@dataclass
class Snapshot:
    """The tables of one release."""

    version: str
    tables: dict[str, Keys] = field(default_factory=dict)
    types: dict[str, Keys] = field(default_factory=dict)
    choices: dict[str, Keys] = field(default_factory=dict)
    closed: dict[str, Keys] = field(default_factory=dict)
    aliases: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, table: str, fields: Mapping[str, Field]) -> None:
        self.tables.setdefault(table, {}).update({key: item.default for key, item in fields.items()})
        self.types.setdefault(table, {}).update({key: item.type for key, item in fields.items() if item.type})
        self.choices.setdefault(table, {}).update(
            {key: list(item.choices) for key, item in fields.items() if item.choices}
        )


def encode(snapshots: Sequence[Snapshot], base: str = "") -> dict[str, Any]:
    """The history of all snapshots (ascending). Tables are stored as differences from `base` when it is named."""
    versions = [snapshot.version for snapshot in snapshots]
    encoded: dict[str, Any] = {"versions": versions, "first": {}, "last": {}, "like": {}}
    for kind in KINDS:
        per_version = [getattr(snapshot, kind) for snapshot in snapshots]
        names = sorted({name for tables in per_version for name in tables})
        encoded[kind] = {}
        for name in names:
            there = [index for index, tables in enumerate(per_version) if name in tables]
            first, last = there[0], there[-1]
            present = [tables.get(name, {}) for tables in per_version[first : last + 1]]
            encoded[kind][name] = _histories(present, versions[first : last + 1])
            if kind == "tables" and first:
                encoded["first"][name] = versions[first]
            if kind == "tables" and last + 1 < len(versions):
                encoded["last"][name] = versions[last]
    for name in encoded["tables"]:
        if base and name != base:
            encoded["like"][name] = base
            span = encoded["first"].get(name), encoded["last"].get(name)
            _subtract(encoded["tables"][name], encoded["tables"][base], *span, versions)
    encoded["aliases"] = _merged(snapshot.aliases for snapshot in snapshots)
    return encoded


def _histories(per_version: Sequence[Keys], versions: Sequence[str]) -> dict[str, History]:
    found: dict[str, History] = {}
    for key in sorted({key for keys in per_version for key in keys}):
        history: History = []
        for version, keys in zip(versions, per_version, strict=True):
            if key not in keys:
                if history and len(history[-1]) == 2:
                    history.append([version])
            elif not history or len(history[-1]) == 1 or not same(history[-1][1], keys[key]):
                history.append([version, keys[key]])
        found[key] = history
    return found


def same(left: Any, right: Any) -> bool:
    """Equal as JSON text: True is not 1, and 1 is not 1.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def crop(history: History, first: str | None, last: str | None, versions: Sequence[str]) -> History:
    """The history as seen by a table that starts at `first` and ends with `last`."""
    start = versions.index(first) if first else 0
    end = versions.index(last) if last else len(versions) - 1
    later = [point for point in history if start < versions.index(point[0]) <= end]
    at_start = [point for point in history if versions.index(point[0]) <= start]
    return [[versions[start], at_start[-1][1]], *later] if at_start and len(at_start[-1]) == 2 else later


def _subtract(
    keys: dict[str, History], base: dict[str, History], first: str | None, last: str | None, versions: Sequence[str]
) -> None:
    for key, history in base.items():
        inherited = crop(history, first, last, versions)
        if key not in keys and inherited:
            keys[key] = []
        elif key in keys and same(keys[key], inherited):
            del keys[key]


def _merged(parts: Iterable[dict[str, dict[str, str]]]) -> dict[str, dict[str, str]]:
    merged: dict[str, dict[str, str]] = {}
    for part in parts:
        for table, aliases in part.items():
            merged.setdefault(table, {}).update(aliases)
    return merged


def dump(data: Mapping[str, Any]) -> str:
    """Compact JSON with one line per key, so that differences between two readings stay readable."""
    lines = []
    for name, item in data.items():
        if name in (*KINDS, "aliases"):
            if any(item.values()):
                tables = ",\n".join(f"{json.dumps(table)}: {_block(keys)}" for table, keys in item.items() if keys)
                lines.append(f"{json.dumps(name)}: {{\n{tables}\n}}")
        elif name == "renames" and item:
            lines.append(f"{json.dumps(name)}: [\n" + ",\n".join(_compact(entry) for entry in item) + "\n]")
        elif name == "derived" and item:
            lines.append(f"{json.dumps(name)}: {_block(item)}")
        elif item or name in ("package", "versions"):
            lines.append(f"{json.dumps(name)}: {_compact(item)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _block(keys: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{_compact(keys[key])}" for key in sorted(keys)) + "\n}"


def _compact(item: Any) -> str:
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def decode(data: Mapping[str, Any]) -> list[Snapshot]:
    """The snapshots that a stored file stands for (the opposite of `encode`, aliases aside)."""
    versions = data["versions"]
    snapshots = [Snapshot(version) for version in versions]
    for kind in KINDS:
        for table, keys in data.get(kind, {}).items():
            first, last = (data.get(name, {}).get(table) for name in ("first", "last"))
            full = dict(keys)
            if kind == "tables" and (base := data.get("like", {}).get(table)):
                inherited = {key: crop(history, first, last, versions) for key, history in data[kind][base].items()}
                full = {key: history for key, history in {**inherited, **keys}.items() if history}
            end = versions.index(last) + 1 if last else len(versions)
            for index in range(versions.index(first) if first else 0, end):
                getattr(snapshots[index], kind)[table] = {}
            for key, history in full.items():
                _replay(key, history, [getattr(snapshot, kind).get(table) for snapshot in snapshots], versions)
    if data.get("aliases"):
        snapshots[-1].aliases = {table: dict(aliases) for table, aliases in data["aliases"].items()}
    return snapshots


def _replay(key: str, history: History, tables: Sequence[Keys | None], versions: Sequence[str]) -> None:
    points = {point[0]: point for point in history}
    current: list[Any] = []
    for version, keys in zip(versions, tables, strict=True):
        current = points.get(version, current)
        if keys is not None and len(current) == 2:
            keys[key] = current[1]
