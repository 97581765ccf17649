"""What each look-up answers: plain dataclasses. Empty fields are left out of the JSON, but for those marked to stay."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

_STAYS = {"stays": True}


@dataclass(slots=True)
class Cause:
    """One of bug, rule, pattern, and why it is likely."""

    why: str = ""
    bug: str = ""
    rule: str = ""
    pattern: str = ""


@dataclass(slots=True)
class Claim:
    """What the seed documents say, whether it is right, and the truth."""

    says: str
    answer: str  # right | conditional | outdated | wrong
    note: str


@dataclass(slots=True)
class SymptomRow:
    id: str
    title: str
    score: float | None = None
    matched: str = ""  # the phrasing that fitted
    likely: list[Cause] = field(default_factory=list)
    fix: str = ""
    question: str = ""
    not_a_fault_if: str = ""
    metrics: list[str] = field(default_factory=list)
    seed: str = ""
    claims: list[Claim] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    last_verified: str = ""


@dataclass(slots=True)
class SymptomsAnswer:
    query: str
    symptoms: list[SymptomRow]
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Step:
    do: str
    why: str = field(default="", metadata=_STAYS)
    command: str = field(default="", metadata=_STAYS)


@dataclass(slots=True)
class BugState:
    """A bug in a table."""

    id: str
    status: str
    fixed_in: dict[str, str] = field(default_factory=dict, metadata=_STAYS)
    title: str = ""


@dataclass(slots=True)
class PatternRow:
    id: str
    title: str = ""
    seed: str = ""
    says: str = ""
    bugs: int | None = None


@dataclass(slots=True)
class PlaybookAnswer:
    topic: str
    kind: str  # overview | pattern | symptom | framework | bug | guide
    title: str
    says: str = ""
    steps: list[Step] = field(default_factory=list)
    patterns: list[PatternRow] = field(default_factory=list)
    bugs: list[BugState] = field(default_factory=list)
    not_if: str = ""
    references: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FixRow:
    bug: str
    title: str
    pattern: str
    status: str
    severity: str
    affected: dict[str, str] = field(metadata=_STAYS)
    fixed_in: dict[str, str] = field(metadata=_STAYS)
    fix: str
    workaround: str = field(default="", metadata=_STAYS)
    mechanism: str = ""
    trigger: str = ""
    confirm: str = ""
    claims: list[Claim] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    open_questions: list[str] = field(default_factory=list)
    verdict: str = ""
    last_verified: str = ""
    references: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FixesAnswer:
    total: int
    fixes: list[FixRow]
    patterns: list[PatternRow] = field(default_factory=list)
    next_offset: int | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MatrixCell:
    pattern: str
    framework: str
    bugs: list[BugState]


@dataclass(slots=True)
class MatrixAnswer:
    """`rows` differ by view; each is a flat object."""

    view: str
    patterns: list[str] = field(default_factory=list)
    frameworks: list[str] = field(default_factory=list)
    cells: list[MatrixCell] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ChainLink:
    kind: str  # seed | rule | pattern | bug | claim | seed_table | proof | note | symptom
    id: str
    text: str
    references: list[str] = field(default_factory=list, metadata=_STAYS)


@dataclass(slots=True)
class ExplainAnswer:
    id: str
    view: str
    chain: list[ChainLink]
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SkillRow:
    name: str
    title: str
    score: float
    matched: str = field(metadata=_STAYS)
    tools: list[str]
    notes: list[str]
    cli: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SkillsAnswer:
    query: str
    skills: list[SkillRow]
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class NoteRow:
    uri: str
    title: str
    applies_to: dict[str, str] = field(default_factory=dict)
    last_verified: str = ""
    section: str = ""  # of a search: where it was found
    text: str = ""  # of a search: the lines around it


@dataclass(slots=True)
class NoteAnswer:
    uri: str = ""
    title: str = ""
    sections: list[str] = field(default_factory=list)
    text: str = ""
    truncated: bool = False
    next_offset: int | None = None
    found: list[NoteRow] = field(default_factory=list)  # of a list, a search or a framework
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class AvoidLine:
    """A line to write, or in words ("# ...") what no line can set; why, and where that was read."""

    text: str
    why: str
    source: str


@dataclass(slots=True)
class AvoidAnswer:
    framework: str
    focus: str
    versions: dict[str, str] = field(default_factory=dict)  # that the answer is for, given or taken
    lines: list[AvoidLine] = field(default_factory=list)
    fragment: str = ""  # the lines that can be written, as one piece of a config or command
    notes: list[str] = field(default_factory=list)


def to_data(answer: Any) -> dict[str, Any]:
    """The answer as JSON types, without fields that are empty; the lists that a caller iterates over stay."""
    return {
        item.name: _plain(getattr(answer, item.name))
        for item in fields(answer)
        if item.name in _ALWAYS or not _empty(getattr(answer, item.name))
    }


_ALWAYS = {
    "symptoms", "topic", "steps", "patterns", "fixes", "view", "frameworks", "cells", "rows", "id", "chain", "skills",
    "uri", "title", "sections", "text", "truncated", "total", "framework", "lines", "fragment",
}  # fmt: skip


def _empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((item, _plain(getattr(value, item.name))) for item in fields(value))
        return {item.name: entry for item, entry in pairs if item.metadata.get("stays") or not _empty(entry)}
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items() if not _empty(entry)}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
