"""The state of a script between two commands: variables, functions, arguments, and what it has printed so far.

Every value in it is immutable, so that a copy for "what if this branch had been taken" is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..values import Command
from .pieces import EMPTY, Field, Piece, Value, text_of
from .syntax import Function


@dataclass(frozen=True, slots=True)
class Variable:
    """`items` holds an array (integer keys) or, when `keyed`, a table (text keys); a scalar has None there.

    `present` is False after `unset`: known to be absent, other than a name the script never mentioned.
    """

    value: Value = EMPTY
    items: dict[int | str, Field] | None = None
    keyed: bool = False
    exported: bool = False
    present: bool = True
    integer: bool = False
    line: int = 0
    file: str = ""

    def scalar(self) -> Value:
        """What `$name` gives: the value, or the first item of an array."""
        if self.items is None:
            return self.value
        first = self.items.get("0" if self.keyed else 0)
        return first.value if first is not None else EMPTY

    def fields(self) -> list[Field]:
        if self.items is None:
            return [Field(self.value, self.line, self.file)] if self.present else []
        if self.keyed:
            return list(self.items.values())
        return [self.items[key] for key in sorted(key for key in self.items if isinstance(key, int))]

    def same_content(self, other: Variable) -> bool:
        if self.present != other.present or (self.items is None) != (other.items is None):
            return False
        if self.items is None or other.items is None:
            return self.value is other.value or _content(self.value) == _content(other.value)
        if self.items is other.items:
            return True
        return {key: _content(item.value) for key, item in self.items.items()} == {
            key: _content(item.value) for key, item in other.items.items()
        }


def _content(value: Value) -> tuple[str, tuple[tuple[str, ...], ...]]:
    return text_of(value), tuple(piece.names for piece in value if piece.names)


class Status(NamedTuple):
    """The exit status of a command as far as it is known.

    ok: None when it cannot be decided, then `names` say what would decide it.
    assumed: the status of a probe (file test, `command -v` ...), which counts as false.
    absent: names that were never set and counted as empty to get here.
    """

    ok: bool | None
    names: tuple[str, ...] = ()
    assumed: bool = False
    absent: tuple[str, ...] = ()

    @property
    def guessed(self) -> bool:
        return self.ok is None or self.assumed or bool(self.absent)


OK = Status(True)
FAILED = Status(False)
PROBE_FAILED = Status(False, assumed=True)


class ShellFlow(Exception):
    """`exit`, `return`, `break` or `continue` on its way up; `levels` counts the loops still to leave."""

    def __init__(self, kind: str, line: int, levels: int = 1, status: Status = OK) -> None:
        super().__init__(kind)
        self.kind = kind
        self.line = line
        self.levels = levels
        self.status = status


class LimitReached(Exception):
    """A cap of limits.py was reached; the text says which."""


@dataclass(slots=True)
class Output:
    """What a command substitution has printed. `opaque` names a printer whose text cannot be known."""

    pieces: list[Piece] = field(default_factory=list)
    opaque: tuple[str, ...] | None = None

    def copy(self) -> Output:
        return Output(list(self.pieces), self.opaque)


@dataclass(slots=True)
class State:
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    positional: tuple[Field, ...] = ()
    own_arguments: bool = True  # the positional parameters are those of the script, not of a function or `set --`
    directory: str | None = None  # working directory, when it is known
    output: Output | None = None  # of the command substitution being evaluated
    input: Value | None = None  # standard input, when it is known
    records: bool = True  # False inside a command substitution, where only launches are worth keeping
    commands: list[Command] = field(default_factory=list)

    def fork(self) -> State:
        """A copy to try a branch in; the commands it records are its own."""
        return State(
            dict(self.variables),
            dict(self.functions),
            self.positional,
            self.own_arguments,
            self.directory,
            self.output.copy() if self.output else None,
            self.input,
            self.records,
        )

    def merge(self, others: list[State], names: tuple[str, ...], line: int, file: str) -> None:
        """Make unknown what the alternatives leave in different states; `names` would decide which one is right."""
        for other in others:
            for name in self.variables.keys() | other.variables.keys():
                mine, theirs = self.variables.get(name), other.variables.get(name)
                if mine is theirs or (mine is not None and theirs is not None and mine.same_content(theirs)):
                    continue
                self.variables[name] = _undecided(name, mine, theirs, names or (name,), line, file)
            if self.directory != other.directory:
                self.directory = None
            for name, function in other.functions.items():
                self.functions.setdefault(name, function)
            if self.output is not None and other.output is not None:
                mine_printed, theirs_printed = self.output, other.output
                if _content(tuple(mine_printed.pieces)) != _content(tuple(theirs_printed.pieces)):
                    mine_printed.opaque = mine_printed.opaque or names
                mine_printed.opaque = mine_printed.opaque or theirs_printed.opaque


def _undecided(
    name: str, mine: Variable | None, theirs: Variable | None, names: tuple[str, ...], line: int, file: str
) -> Variable:
    """A variable that two branches left different. What both arrays begin with stays known."""
    base = mine or theirs or Variable()
    exported = base.exported or bool(theirs and theirs.exported)
    written = theirs if theirs is not None and (mine is None or theirs.line > mine.line) else base
    line, file = (written.line, written.file) if written.line else (line, file)
    arrays = [side.items for side in (mine, theirs) if side is not None and side.items is not None]
    if not arrays or base.keyed:
        gap: Value = (Piece(f"${{{name}}}", line, file, names),)
        return Variable(gap, exported=exported, line=line, file=file)
    gap = (Piece(f"${{{name}[@]}}", line, file, names),)
    shared: dict[int | str, Field] = {}
    if len(arrays) == 2:
        pairs = zip(replace(base, items=arrays[0]).fields(), replace(base, items=arrays[1]).fields(), strict=False)
        for first, second in pairs:
            if _content(first.value) != _content(second.value):
                break
            shared[len(shared)] = first
    shared[len(shared)] = Field(gap, line, file, True)
    return Variable(items=shared, exported=exported, line=line, file=file)
