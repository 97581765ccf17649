"""Result types of validate, and a curve to draw: plain dataclasses, so that no command pays for pydantic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from .configs.files import visible
from .configs.values import Unresolved
from .masking import mask, masked_value

SEVERITIES = ("error", "warning", "info")


@dataclass(slots=True)
class SettingRef:
    """The setting a finding is about: canonical field, native key, value, origin and place."""

    field: str
    key: str
    value: Any
    origin: str
    file: str = ""
    line: int = 0
    version: str = ""


@dataclass(slots=True)
class Edit:
    """Set `key` to `value` in the user's file; `action` says when it is something else.

    file, line, old: where the user wrote the key and what it is there; without a file it is not written yet.
    new_key: for "rename".
    """

    key: str
    value: Any = None
    file: str = ""
    line: int = 0
    old: Any = None
    action: str = "set"  # set | rename | remove
    new_key: str = ""


@dataclass(slots=True)
class Fix:
    """What to do, in the framework's own syntax. An unsafe fix changes training or cost, so a person decides."""

    text: str
    edits: list[Edit] = field(default_factory=list)
    safety: str = "unsafe"  # safe | unsafe


@dataclass(slots=True)
class Finding:
    """One fault, with its evidence."""

    rule: str
    severity: str
    confidence: str
    title: str
    message: str
    pattern: str = ""
    setting: SettingRef | None = None
    fix: Fix | None = None
    seed: list[str] = field(default_factory=list)
    bugs: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)


@dataclass(slots=True)
class UnknownKeyRow:
    key: str
    file: str
    line: int
    did_you_mean: list[str]
    note: str
    fix: Fix | None = None  # where one new name is certain


@dataclass(slots=True)
class Undecided:
    """A rule that the input does not decide, and the native keys that would."""

    rule: str
    needs: list[str]
    note: str = ""


@dataclass(slots=True)
class SeedRow:
    """One of the seeds' 36 rules, answered."""

    id: str
    title: str
    answer: str  # right | conditional | outdated | wrong
    status: str  # fail | warn | pass | unknown | not_applicable
    checks: list[str]
    note: str


@dataclass(slots=True)
class Report:
    """The answer of validate."""

    framework: str
    sources: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    summary: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unknown_keys: list[UnknownKeyRow] = field(default_factory=list)
    batch: dict[str, Any] = field(default_factory=dict)
    undecided: list[Undecided] = field(default_factory=list)
    seed_rules: list[SeedRow] = field(default_factory=list)
    settings: list[SettingRef] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    suppressed: list[dict[str, Any]] = field(default_factory=list)

    def worst(self) -> str:
        """The highest severity among the findings, or ""."""
        return next((level for level in SEVERITIES if any(f.severity == level for f in self.findings)), "")


def place_of(setting: SettingRef | None, report: Report) -> SettingRef:
    """Where a finding is shown: at its setting, else at the first file of the run (line 0), since it is about that."""
    if setting is not None and setting.file:
        return setting
    file = report.sources[0]["path"] if report.sources else ""
    return SettingRef("", setting.key if setting is not None else "", None, "default", file)


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric to draw: its name in the log, steps and values, and where signals begin, each with its title."""

    name: str
    steps: Sequence[float]
    values: Sequence[float]
    marks: Sequence[tuple[float, str]] = ()


def plain(value: Any) -> Any:
    """The value as JSON types, fit to be shown: `clean`, and what a secret's name stands before is masked.

    An unresolved value is its text as far as it goes, else "unknown"; a number that is not finite is "nan", "inf" or
    "-inf".
    """
    if isinstance(value, Unresolved):
        return clean(value.text) or "unknown"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {clean(str(key)): plain(masked_value(str(key), item)) for key, item in value.items()}
    if isinstance(value, SettingRef | Edit):
        value = replace(value, value=masked_value(value.key, value.value))
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean(str(value))


def clean(text: str) -> str:
    """Text that may leave the process: secrets masked, and nothing in it that a reader cannot see.

    No terminal codes, no control characters but \\n and \\t, no direction marks, characters of no width or tags (they
    hide text from a person that a model reads), no lone surrogates.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return mask(_CONTROL.sub("�", visible(text)))


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def to_dict(report: Report, detail: str = "full", limit: int | None = None) -> dict[str, Any]:
    """The report as plain JSON types.

    detail: "full" has everything; "normal" leaves out the effective settings and assumptions; "brief" also leaves out
    titles, references, formulas, and what would be said twice.
    limit: at most so many findings, unknown keys and undecided rules each; what was cut is said in `notes`.
    """
    data: dict[str, Any] = plain(report)
    if detail != "full":
        del data["settings"], data["assumptions"]
        data["findings"] = [_filled(row) for row in data["findings"]]
        data["unknown_keys"] = [_filled_unknown(row) for row in data["unknown_keys"]]
        data["suppressed"] = [_without(row, "finding") for row in data["suppressed"]]
    if detail == "brief":
        data["findings"] = [_brief_finding(row) for row in data["findings"]]
        data["undecided"] = [_without(row, "note") for row in data["undecided"]]
        data["batch"] = _without(data["batch"], "formula")
        data["seed_rules"] = [_brief_seed_row(row) for row in data["seed_rules"]]
    for name in ("findings", "unknown_keys", "undecided"):
        rows = data[name]
        most = min(limit, _BRIEF_UNDECIDED) if limit and detail == "brief" and name == "undecided" else limit
        if most is not None and len(rows) > most:
            shown_by = "detail=normal" if most != limit else "a higher limit"
            data["notes"].append(f"{len(rows) - most} more {name.replace('_', ' ')} cut; {shown_by} shows them")
            data[name] = rows[:most]
    return {name: value for name, value in data.items() if value not in ([], {}) or name in _ALWAYS}


_ALWAYS = ("framework", "sources", "versions", "summary", "findings", "unknown_keys", "undecided")
_BRIEF_NOTE_CHARS = 100
_BRIEF_UNDECIDED = 5


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _filled(row: dict[str, Any]) -> dict[str, Any]:
    """The row without what is empty; a setting's value stays even when it is null."""
    filled = {name: _filled(value) if isinstance(value, dict) else value for name, value in row.items()}
    edits: list[dict[str, Any]] = row.get("edits") or []
    filled |= {"edits": [_edit(edit) for edit in edits]} if edits else {}
    return {name: value for name, value in filled.items() if name == "value" or value not in (None, [], "", {})}


def _brief_finding(row: dict[str, Any]) -> dict[str, Any]:
    """Without what the message says already; an edit of the setting that is shown does not repeat its place."""
    row = _without(row, "title", "references", "pattern", *(("confidence",) if row.get("confidence") == "high" else ()))
    setting = row.get("setting") or {}
    if setting:
        row["setting"] = _without(setting, "field", *(() if setting.get("line") else ("line",)))
    if edits := (row.get("fix") or {}).get("edits"):
        row["fix"]["edits"] = [_without(edit, *_shown_by(setting, edit)) for edit in edits]
    return row


def _shown_by(setting: dict[str, Any], edit: dict[str, Any]) -> tuple[str, ...]:
    same = all(edit.get(name) == setting.get(name) for name in ("key", "file", "line"))
    return ("file", "line", "old") if same else ()


def _filled_unknown(row: dict[str, Any]) -> dict[str, Any]:
    return {**_without(row, "fix"), **({"fix": _filled(row["fix"])} if row["fix"] else {})}


def _edit(row: dict[str, Any]) -> dict[str, Any]:
    """An edit with what it needs: `old` is a value like any other where the key is written somewhere."""
    needless = {"action"} if row["action"] == "set" else {"value", "old"}
    needless |= set() if row["file"] else {"file", "line", "old"}
    return _without(row, *needless, *(() if row["new_key"] else ("new_key",)))


def _brief_seed_row(row: dict[str, Any]) -> dict[str, Any]:
    note = row["note"] if len(row["note"]) <= _BRIEF_NOTE_CHARS else row["note"][: _BRIEF_NOTE_CHARS - 1] + "…"
    return {**_without(row, "checks"), "note": note}
