"""What the readers hand on: native settings with the place they were written at.

A reader turns text into `Entry` objects and knows no framework. A value that the text alone does not decide
(an unset shell variable, a command substitution, an expression in Python) is an `Unresolved`, never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class InputError(Exception):
    """The input cannot be read at all; the text says why and what to do next, in one line."""


class ProjectFileError(InputError):
    """The project file, or a rule that it names, is faulty: no run of the project can be validated."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A value that is only partly known: `text` as far as it goes, `names` of what would decide it."""

    text: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Entry:
    """One native setting as the user wrote it.

    key: dotted path (YAML, JSON, Hydra) or flag with its dashes ("--num_generations").
    value: Python value (None for null) or `Unresolved`.
    op: Hydra prefix: "" (override), "+" (add), "++" (set either way), "~" (delete).
    text: the value as written, for messages.
    """

    key: str
    value: Any
    file: str
    line: int
    op: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Lint:
    """A fault of the text itself (broken continuation, duplicate key ...), found while reading."""

    rule: str
    message: str
    file: str
    line: int
    severity: str = "warning"  # error | warning | info
    fix: str = ""


@dataclass(slots=True)
class Document:
    """A data file (YAML, JSON, Python call) read into entries. `name` is the callable of a Python call."""

    path: str
    format: str  # yaml | json | toml | python | ...
    entries: list[Entry] = field(default_factory=list)
    data: Any = None  # the parsed tree, for shape checks (framework detection)
    lints: list[Lint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """One argument of a command after expansion; `unknown` names the parts that could not be decided."""

    text: str
    line: int
    file: str
    unknown: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        return not self.unknown


@dataclass(slots=True)
class Command:
    """One simple command that the script would run, with the environment set for it (exports and prefixes)."""

    argv: list[Word]
    env: dict[str, Word]
    file: str
    line: int
    launch: bool = False  # starts a trainer or a rollout server
    wrapper: tuple[Word, ...] = ()  # words in front of argv that only start the launch (`ray job submit ... --`)


@dataclass(slots=True)
class Script:
    """A shell script, statically interpreted. Nothing was executed."""

    path: str
    commands: list[Command] = field(default_factory=list)  # in the order they would run; launches are marked
    lints: list[Lint] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)  # "line 12: `[ -d x ]` taken as false"
    takes_arguments: bool = False  # "$@", "$*" or "$1" reaches a launch
    sources: list[str] = field(default_factory=list)  # files followed by `source`
    env: dict[str, Word] = field(default_factory=dict)  # exported at the end of the script
    flags: dict[str, list[Word]] = field(default_factory=dict)  # variables that hold three or more `--flags`

    @property
    def launches(self) -> Sequence[Command]:
        return [command for command in self.commands if command.launch]
