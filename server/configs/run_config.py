"""One run in canonical terms, whatever it was written in.

`RunConfig.settings` maps canonical fields (knowledge/fields.yaml) to `Setting`s, each of which remembers the user's
own key, file and line, or the version whose default it is. Adapters build it; checks, batch table and reports read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .values import Lint, Unresolved

EXPLICIT, DEFAULT, DERIVED = "explicit", "default", "derived"


@dataclass(slots=True)
class Setting:
    """One effective setting. `version` names the release a default was taken from ("verl 0.9.1")."""

    field: str
    key: str
    value: Any  # Python value, or Unresolved
    origin: str  # EXPLICIT | DEFAULT | DERIVED
    file: str = ""
    line: int = 0
    version: str = ""
    note: str = ""  # for derived values: from what

    @property
    def known(self) -> bool:
        return not isinstance(self.value, Unresolved)


@dataclass(slots=True)
class UnknownKey:
    """A key that the framework does not know at the version in use."""

    key: str
    file: str
    line: int
    did_you_mean: list[str] = field(default_factory=list)
    note: str = ""
    fatal: bool = False  # the framework stops on it at start-up
    new_name: str = ""  # what the key is called at this version, where that is certain


@dataclass(slots=True)
class SourceFile:
    """A file (or pasted text) that was read: format and number of settings found in it."""

    path: str
    format: str
    keys: int


@dataclass(slots=True)
class RunConfig:
    """Effective settings of one run, with what is known about how they came about."""

    framework: str
    versions: dict[str, str] = field(default_factory=dict)  # given or detected, by package name
    settings: dict[str, Setting] = field(default_factory=dict)  # canonical field -> setting
    native: dict[str, Setting] = field(default_factory=dict)  # native key -> what the user wrote (last one wins)
    env: dict[str, Setting] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  # canonical field -> native key that would set it
    absent: set[str] = field(default_factory=set)  # canonical fields that this version of the framework lacks
    sources: list[SourceFile] = field(default_factory=list)
    unknown_keys: list[UnknownKey] = field(default_factory=list)
    lints: list[Lint] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    without: set[str] = field(default_factory=set)  # packages that this run does not use, though others of its kind do
    line: int = 0  # where the launch starts in its script
    partial: str = ""  # why unset keys need not have their defaults (only a part was given, a modified framework ...)
    weight: int = 0  # number of explicit settings; the heaviest launch of a file is reported first

    def value(self, name: str, otherwise: Any = None) -> Any:
        """Known value of a canonical field, else `otherwise`."""
        setting = self.settings.get(name)
        return setting.value if setting is not None and setting.known else otherwise

    def key_of(self, name: str) -> str:
        """The native key of a canonical field: the one in use, else the one that would set it, else the name."""
        setting = self.settings.get(name)
        return (setting.key if setting else "") or self.keys.get(name, name)

    def derive(self, name: str, value: Any, note: str, key: str = "") -> None:
        """Record a value computed from others; a None is not recorded."""
        if value is not None:
            self.settings[name] = Setting(name, key or self.keys.get(name, name), value, DERIVED, note=note)

    def set_explicit_like(self, name: str, source: Setting, value: Any) -> None:
        """Record a canonical field whose value is a reading of another setting, keeping that one's place and origin."""
        self.settings[name] = Setting(
            name, source.key, value, source.origin, source.file, source.line, source.version, source.note
        )
