"""Settings in a framework's own syntax: which native key a canonical field has at a version, and how it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..configs.keys import KeyTable, load
from ..configs.keys_data import key_data
from ..configs.values import InputError
from ..store import lookup as store
from ..store.index import index
from .releases import Releases


@dataclass(frozen=True, slots=True)
class Native:
    """One native setting. `added`: Hydra takes the key only with a leading "+"."""

    key: str
    value: Any
    added: bool = False


class Writer:
    """Writes settings for one framework at its release."""

    def __init__(self, framework: str, releases: Releases) -> None:
        adapter: Mapping[str, Any] = index()["adapters"].get(framework, {})
        self.framework = framework
        self.syntax: Mapping[str, Any] = adapter.get("syntax") or store.avoid()["syntax"].get(framework, {})
        self.tables = _tables(framework, str(self.syntax.get("also", "")), releases) if self.syntax else []
        self._fields = _fields(framework, str(self.syntax.get("also", "")), self.syntax.get("more", ()))
        self._handed_on = tuple(adapter.get("handed_on", ()))

    @property
    def writes(self) -> bool:
        """Whether anything can be written: a syntax, canonical fields and keys are known."""
        return bool(self.syntax and self.tables and self._fields)

    def setting(self, field: str, value: Any) -> Native | None:
        """The setting of a canonical field under the first of its keys that the release knows, None without one."""
        return next((self.native(key, value) for key in self._fields.get(field, ()) if self._table(key)), None)

    def native(self, key: str, value: Any) -> Native:
        """A setting by its own key."""
        table = self._table(key)
        return Native(key, value, added=table is not None and not table.exists(key) and not table.is_section(key))

    def knows(self, key: str) -> bool:
        return self._table(key) is not None

    def default(self, key: str) -> Any:
        """What holds while the key is unset, as far as the tables say."""
        table = self._table(key)
        return table.resolved_default(_plain(key)) if table is not None else None

    def text(self, setting: Native) -> str:
        """One setting as a line that can be told from the others."""
        style = self.syntax["style"]
        if style == "hydra":
            return f"{'+' if setting.added else ''}{setting.key}={_shell(setting.value)}"
        if style == "flags":
            return _flag(setting, bool(self.syntax.get("dashes")))
        tree = self._tree([setting])
        return (
            json.dumps(tree)[1:-1]
            if style == "json"
            else f"{'.'.join(self._path(setting.key))}: {_yaml(setting.value)}"
        )

    def fragment(self, settings: Sequence[Native]) -> str:
        """All settings as one piece of a config or command line."""
        if not settings:
            return ""
        style = self.syntax["style"]
        if style in ("hydra", "flags"):
            return " \\\n".join(self.text(setting) for setting in settings)
        tree = self._tree(settings)
        return json.dumps(tree, indent=2) if style == "json" else "\n".join(_yaml_lines(tree))

    def _path(self, key: str) -> list[str]:
        sections: Mapping[str, str] = {} if "." in key else self.syntax.get("sections", {})
        return [*(name for start, name in sections.items() if key.startswith(start)), *key.split(".")]

    def _tree(self, settings: Iterable[Native]) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for setting in settings:
            *branch, leaf = self._path(setting.key)
            place = tree
            for part in branch:
                place = place.setdefault(part, {})
            place[leaf] = setting.value
        return tree

    def _table(self, key: str) -> KeyTable | None:
        """The table that knows the key; a section in front of it may be left out, as accelerate's tables do."""
        names = (_plain(key), _plain(key).rpartition(".")[2])
        within = any(key.startswith(f"{section}.") for section in self.syntax.get("sections", {}).values())
        for table in self.tables:
            if any(table.known(name) for name in names[: 1 + within]):
                return table
        # A section that the framework hands on to another library takes that library's keys as well
        for section in (start.rstrip(".") for start in self._handed_on if key.startswith(start)):
            return next((table for table in self.tables if table.is_section(section)), None)
        return None


def _plain(key: str) -> str:
    return key.lstrip("-+")


def _fields(framework: str, also: str, more: Iterable[str]) -> dict[str, list[str]]:
    """Canonical field -> native keys of the framework, then those of the one that it is built on.

    more: further field maps in the framework's data, of one engine or back end.
    """
    found: dict[str, list[str]] = {}
    for name, part in ((framework, "fields"), *((framework, part) for part in more), (also, "fields")):
        for field, keys in index()["adapters"].get(name, {}).get(part, {}).items():
            found.setdefault(field, []).extend([keys] if isinstance(keys, str) else keys)
    return found


def _tables(framework: str, also: str, releases: Releases) -> list[KeyTable]:
    """Every key table of the framework at its release, and of the one that it is built on."""
    tables: list[KeyTable] = []
    for name in filter(None, (framework, also)):
        try:
            data = key_data(name)
        except InputError:
            continue
        tables += [load(name, [table], releases.version(data.package)) for table in data.tables]
    return tables


def _flag(setting: Native, dashes: bool) -> str:
    """The flag and its value. dashes: the tables have underscores where the command line has dashes."""
    head, dot, rest = _plain(setting.key).partition(".")
    name = f"--{head.replace('_', '-') if dashes else head}{dot}{rest}"
    return name if setting.value is True else f"{name} {_shell(setting.value)}"


def _shell(value: Any) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if re.fullmatch(r"[\w.,:/@%+-]+", text) else json.dumps(text)


def _yaml(value: Any) -> str:
    """A scalar in YAML 1.1, which reads 1e-5, on and no as something else than Python does."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w./-]*", value):
        return (
            value if value.lower() not in ("yes", "no", "on", "off", "true", "false", "null", "none") else f'"{value}"'
        )
    return json.dumps(value)


def _yaml_lines(tree: Mapping[str, Any], indent: str = "") -> Iterable[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _yaml_lines(value, indent + "  ")
        else:
            yield f"{indent}{key}: {_yaml(value)}"
