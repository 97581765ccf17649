"""The syntax tree of a shell script: what the parser builds and the evaluator walks.

Words keep their parts unevaluated, each with the line it was written on, because one word of a launch may be
assembled from several places and a finding has to point at the right one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

# --- words ------------------------------------------------------------------------------------------------------


class Literal(NamedTuple):
    """Text without expansion. `quoted` text is neither split nor used as a pattern."""

    text: str
    quoted: bool
    line: int


class Parameter(NamedTuple):
    """`$name` or `${name...}`: `op` is the operator ("", ":-", "##", "@U" ...), `subscript` the text in brackets."""

    name: str
    quoted: bool
    line: int
    raw: str
    op: str = ""
    argument: WordNode | None = None
    second: WordNode | None = None
    subscript: WordNode | None = None
    all_items: str = ""  # "@" or "*" for `${a[@]}` and `${a[*]}`
    length: bool = False
    indirect: bool = False


class CommandSubstitution(NamedTuple):
    body: Sequence
    quoted: bool
    line: int
    raw: str


class ArithmeticSubstitution(NamedTuple):
    expression: WordNode
    quoted: bool
    line: int
    raw: str


class ProcessSubstitution(NamedTuple):
    body: Sequence
    quoted: bool
    line: int
    raw: str


class Placeholder(NamedTuple):
    """`<your_model>`: a gap that the reader of a guide is meant to fill in."""

    raw: str
    quoted: bool
    line: int


Part: TypeAlias = Literal | Parameter | CommandSubstitution | ArithmeticSubstitution | ProcessSubstitution | Placeholder


@dataclass(slots=True)
class WordNode:
    """One word of the source. `plain` is its text when nothing in it has to be expanded."""

    parts: tuple[Part, ...]
    line: int
    raw: str
    plain: str | None = None


# --- commands ---------------------------------------------------------------------------------------------------


class ArrayItem(NamedTuple):
    subscript: WordNode | None
    word: WordNode


@dataclass(slots=True)
class Assignment:
    """`name=value`, `name+=value`, `name[index]=value` or `name=(items)`."""

    name: str
    line: int
    append: bool = False
    index: WordNode | None = None
    value: WordNode | None = None
    items: list[ArrayItem] | None = None


@dataclass(slots=True)
class Redirection:
    """`target` is a file, a here-string or the body of a here-document, by `op`."""

    op: str
    fd: str
    target: WordNode
    line: int


@dataclass(slots=True)
class Simple:
    """A simple command; declarations (`export A=b`) keep their assignments among `words`, in order."""

    line: int
    raw: str
    assignments: list[Assignment] = field(default_factory=list)
    words: list[WordNode | Assignment] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    commands: list[Node]
    line: int
    raw: str
    negated: bool = False


@dataclass(slots=True)
class AndOr:
    """`first`, then pairs of "&&" or "||" with the command behind it."""

    first: Node
    rest: list[tuple[str, Node]]
    line: int
    raw: str


@dataclass(slots=True)
class Sequence:
    """Commands one after another; the flag says that the command runs in the background."""

    items: list[tuple[Node, bool]]
    line: int
    raw: str = ""


@dataclass(slots=True)
class If:
    branches: list[tuple[Sequence, Sequence]]
    otherwise: Sequence | None
    line: int


@dataclass(slots=True)
class While:
    condition: Sequence
    body: Sequence
    until: bool
    line: int


@dataclass(slots=True)
class For:
    """`for name in words`; without `in` it runs over the positional parameters. `select` is read the same way."""

    name: str
    words: list[WordNode] | None
    body: Sequence
    line: int
    menu: bool = False


@dataclass(slots=True)
class ArithmeticFor:
    start: WordNode
    condition: WordNode
    step: WordNode
    body: Sequence
    line: int


@dataclass(slots=True)
class CaseItem:
    patterns: list[WordNode]
    body: Sequence
    terminator: str


@dataclass(slots=True)
class Case:
    word: WordNode
    items: list[CaseItem]
    line: int


@dataclass(slots=True)
class Group:
    """`{ ...; }` or, with `subshell`, `( ... )`."""

    body: Sequence
    subshell: bool
    line: int


@dataclass(slots=True)
class Redirected:
    """A compound command with redirections behind it."""

    command: Node
    redirections: list[Redirection]
    line: int


@dataclass(slots=True)
class Function:
    name: str
    body: Node
    line: int
    file: str


@dataclass(slots=True)
class Arithmetic:
    """`(( expression ))` as a command."""

    expression: WordNode
    line: int
    raw: str


@dataclass(slots=True)
class Test:
    """One node of a `[[ ... ]]` expression: op is "and", "or", "not", "text", a unary or a binary operator."""

    op: str
    left: Test | None = None
    right: Test | None = None
    words: tuple[WordNode, ...] = ()


@dataclass(slots=True)
class Condition:
    test: Test
    line: int
    raw: str


Node: TypeAlias = (
    Simple
    | Pipeline
    | AndOr
    | Sequence
    | If
    | While
    | For
    | ArithmeticFor
    | Case
    | Group
    | Redirected
    | Function
    | Arithmetic
    | Condition
)
