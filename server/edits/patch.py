"""From a report to patched texts: each fix is tried alone, the result is read and validated again, and the edit stays
only when its finding is gone, nothing new came up, and no other setting has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..configs.reading import Reading, read_path
from ..configs.values import InputError
from ..model import Edit, Finding, Fix, Report, SettingRef
from .change import ADD, REMOVE, RENAME, SET, Change, NotEditable
from .text import edit_text
from .writing import SourceText

Validate = Callable[[Mapping[Path, str]], Report]
_Place = tuple[str, Change]  # name of the file, and the change in it
_TRIES = 6  # places that are tried for a new setting
_MAX_TASKS = 200  # fixes tried in one run; each costs a validation


@dataclass(slots=True)
class EditRow:
    """One edit that was made (`reason` is empty) or not, and why. `old` and `value` as the user would write them."""

    rule: str
    key: str
    file: str = ""
    line: int = 0
    action: str = SET
    old: Any = None
    value: Any = None
    new_key: str = ""
    reason: str = ""


@dataclass(slots=True)
class Patch:
    """The new texts by shown name, what was edited, what was not, and the report on the result."""

    report: Report
    texts: dict[str, str] = field(default_factory=dict)
    edits: list[EditRow] = field(default_factory=list)
    skipped: list[EditRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Task:
    """One fix to try: that of a finding, or of an unknown key that is no finding."""

    rule: str
    fix: Fix
    setting: SettingRef | None

    @property
    def name(self) -> tuple[Any, ...]:
        """The same fix again has the same name, at another place it has another."""
        edits = tuple((edit.action, edit.key, edit.new_key, repr(edit.value), edit.line) for edit in self.fix.edits)
        return self.rule, (self.setting.key, self.setting.line) if self.setting else "", edits


def make_patch(
    report: Report,
    sources: Mapping[str, SourceText],
    validate: Validate,
    *,
    unsafe: bool = False,
    only: Finding | None = None,
) -> Patch:
    """Try the fixes of a report on its files.

    sources: the files that may be edited, by their name in the report. validate: the same check again, with some texts
    (by resolved path) in place of what the files hold. unsafe: also fixes that change training or cost. only: the fix
    of one finding.
    """
    work = _Work(report, sources, validate)
    if only is not None and only.fix is not None:
        work.attempt(_Task(only.rule, only.fix, only.setting))
        return work.patch()
    done: set[tuple[Any, ...]] = set()
    while (task := _next(work.report, done)) is not None and len(done) < _MAX_TASKS:
        done.add(task.name)
        if task.fix.safety != "safe" and not unsafe:
            reason = "it changes training or cost; --unsafe applies it"
            work.skip(task, task.fix.edits, reason)
        else:
            work.attempt(task)
    return work.patch()


def _next(report: Report, done: set[tuple[Any, ...]]) -> _Task | None:
    return next((task for task in _tasks(report) if task.name not in done), None)


def _tasks(report: Report) -> Iterable[_Task]:
    for finding in report.findings:
        if finding.fix is not None and finding.fix.edits:
            yield _Task(finding.rule, finding.fix, finding.setting)
    told = {finding.setting.key for finding in report.findings if finding.rule == "unknown-key" and finding.setting}
    for row in report.unknown_keys:
        if row.fix is not None and row.key not in told:
            yield _Task("unknown-key", row.fix, SettingRef("", row.key, None, "explicit", row.file, row.line))


class _Work:
    """The texts as far as they have been edited, with the report on them."""

    def __init__(self, report: Report, sources: Mapping[str, SourceText], validate: Validate) -> None:
        self.report = report
        self.sources = sources
        self.validate = validate
        self.texts = {name: source.text for name, source in sources.items()}
        self.edits: list[EditRow] = []
        self.skipped: list[EditRow] = []

    def patch(self) -> Patch:
        changed = {name: text for name, text in self.texts.items() if text != self.sources[name].text}
        return Patch(self.report, changed, self.edits, self.skipped)

    def skip(self, task: _Task, edits: Iterable[Edit], reason: str) -> None:
        for edit in edits:
            row = _row(task, edit, edit.file, edit.line, reason)
            if all(replace(earlier, line=row.line) != row for earlier in self.skipped):  # lines may have moved
                self.skipped.append(row)

    def attempt(self, task: _Task) -> None:
        """Make all edits of one fix, or none of them."""
        pending = [edit for edit in task.fix.edits if edit.action != SET or not edit.file or edit.value != edit.old]
        try:
            texts, rows = self._edited(task, pending)
        except NotEditable as refusal:
            self.skip(task, pending or task.fix.edits, str(refusal))
            return
        self.texts, self.report = texts
        self.edits += rows
        made = {(row.rule, row.file, row.key, repr(row.old)) for row in rows}
        self.skipped = [row for row in self.skipped if (row.rule, row.file, row.key, repr(row.old)) not in made]

    def _edited(self, task: _Task, pending: Sequence[Edit]) -> tuple[tuple[dict[str, str], Report], list[EditRow]]:
        if not pending:
            raise NotEditable("the settings have these values already")
        made = {(row.key, repr(row.value)) for row in self.edits if row.action == SET}
        if again := [edit.key for edit in pending if edit.file and (edit.key, repr(edit.old)) in made]:
            raise NotEditable(f"an earlier edit has set {again[0]}; run it again on the result")
        failure: NotEditable | None = None
        for places in self._choices(task, pending):
            texts, rows = dict(self.texts), []
            try:
                for edit, (name, change) in _last_line_first(pending, places):
                    texts[name] = edit_text(texts[name], self._format(name), change)
                    rows.append(_row(task, edit, name, change.line or change.near_line, ""))
                return (texts, self._checked(task, texts, pending)), rows
            except NotEditable as refusal:
                failure = failure or refusal  # that of the likeliest place
        raise failure or NotEditable("there is no setting beside which it could be written")

    def _choices(self, task: _Task, edits: Sequence[Edit]) -> Iterable[list[_Place]]:
        """Ways to make the edits, the likeliest first: a setting that is not written yet may go to several places."""
        fixed = [self._place(edit) if edit.file or edit.action != SET else None for edit in edits]
        if None not in fixed:
            yield [place for place in fixed if place is not None]
            return
        for near in self._neighbours(task, [edit for edit, place in zip(edits, fixed, strict=True) if place is None]):
            yield [place or _beside(edit, near) for edit, place in zip(edits, fixed, strict=True)]

    def _place(self, edit: Edit) -> _Place:
        if edit.file not in self.texts:
            where = edit.file or "no file"
            raise NotEditable(f"{edit.key} is written in {where}, which was not named; name it to have it edited")
        return edit.file, Change(edit.action, edit.key, edit.line, edit.value, edit.old, edit.new_key)

    def _neighbours(self, task: _Task, edits: Sequence[Edit]) -> list[SettingRef]:
        """Written settings that a new one may stand beside: that of the finding first, then those of its section."""
        if any(edit.key.startswith("--set ") for edit in edits):
            raise NotEditable("the value was stated on the command line")
        own = [task.setting] if task.setting is not None and task.setting.file in self.texts else []
        written = [row for row in self.report.settings if row.file in self.texts and row.origin == "explicit"]
        key = edits[0].key.split(".")

        def likeness(row: SettingRef) -> int:
            parts = row.key.split(".")
            return sum(1 for a, b in zip(key, parts, strict=False) if a == b)

        ranked = sorted((row for row in written if row.key), key=lambda row: -likeness(row))
        first = [row for row in own if row.key and row.line]
        return list({(row.file, row.key, row.line): row for row in [*first, *ranked]}.values())[:_TRIES]

    def _format(self, name: str) -> str:
        return next((row["format"] for row in self.report.sources if row["path"] == name), "unknown")

    def _checked(self, task: _Task, texts: dict[str, str], edits: Sequence[Edit]) -> Report:
        """The report on the new texts. Raises NotEditable when the edit did not do what it should, and only that."""
        for name, text in texts.items():
            if text != self.texts[name]:
                _require_intended(self._read(name, self.texts), self._read(name, texts), edits)
        try:
            report = self.validate({self.sources[name].path: text for name, text in texts.items()})
        except InputError as error:
            raise NotEditable(f"the edited file cannot be read: {error}") from None
        _require_gone(task, self.report, report)
        _require_nothing_new(self.report, report)
        return report

    def _read(self, name: str, texts: Mapping[str, str]) -> Reading:
        path = self.sources[name].path
        try:
            return read_path(path, None, name, {path: texts[name]})
        except InputError as error:
            raise NotEditable(f"the edited file cannot be read: {error}") from None


def _last_line_first(edits: Sequence[Edit], places: Sequence[_Place]) -> list[tuple[Edit, _Place]]:
    """Edits with their places, so that none moves the line of one that is still to come."""
    pairs = zip(edits, places, strict=True)
    return sorted(pairs, key=lambda pair: -(pair[1][1].line or pair[1][1].near_line))


def _beside(edit: Edit, near: SettingRef) -> _Place:
    flag = near.key.startswith("--") and not edit.key.startswith("-")
    key = f"--{edit.key}" if flag else edit.key
    return near.file, Change(ADD, key, value=edit.value, old=near.value, near=near.key, near_line=near.line)


def _row(task: _Task, edit: Edit, file: str, line: int, reason: str) -> EditRow:
    return EditRow(task.rule, edit.key, file, line, edit.action, edit.old, edit.value, edit.new_key, reason)


# --- what must hold after an edit ------------------------------------------------------------------------------------


def _require_intended(before: Reading, after: Reading, edits: Sequence[Edit]) -> None:
    old, new = _settings(before), _settings(after)
    touched = {_bare(key) for key, _ in ((old - new) + (new - old))}
    intended = {_bare(name) for edit in edits for name in (edit.key, edit.new_key) if name}
    if others := sorted(touched - intended):
        raise NotEditable(f"the edit would also change {', '.join(others[:3])}")
    fresh = {(_bare(key), value) for key, value in new - old}
    written = {_bare(key) for key, _ in new}
    for edit in edits:
        key = _bare(edit.new_key or edit.key)
        if edit.action == SET and (key, _shown(edit.value)) not in fresh and key in written:
            raise NotEditable(f"read again, {edit.key} is not {_shown(edit.value)}")
        if edit.action == REMOVE and key in written:
            raise NotEditable(f"{edit.key} is set in another place as well")
        if edit.action == RENAME and key not in written:
            raise NotEditable(f"read again, {edit.new_key} is not there")


def _settings(reading: Reading) -> Counter[tuple[str, str]]:
    return Counter((entry.op + entry.key, _shown(entry.value)) for part in reading.parts for entry in part.entries)


def _shown(value: Any) -> str:
    return repr(value)


def _bare(key: str) -> str:
    return key.lstrip("+-")


def _require_gone(task: _Task, before: Report, after: Report) -> None:
    if task.rule == "unknown-key":
        key = task.setting.key if task.setting else ""
        if _unknown(key, after) >= _unknown(key, before):
            raise NotEditable("the key is still unknown after the edit")
        return
    if _count(task, after) >= _count(task, before):
        raise NotEditable("the finding stays after the edit")
    if any(row.rule == task.rule for row in after.undecided):
        raise NotEditable("the edit leaves the rule undecided")


def _count(task: _Task, report: Report) -> int:
    """Findings of the rule at the same key: a rule may go on to the next key that it asks for."""
    key = task.setting.key if task.setting else ""
    rows = (finding for finding in report.findings if finding.rule == task.rule)
    return sum((row.setting.key if row.setting else "") == key for row in rows)


def _unknown(key: str, report: Report) -> int:
    return sum(row.key == key for row in report.unknown_keys)


def _require_nothing_new(before: Report, after: Report) -> None:
    if new := _serious(after) - _serious(before):
        raise NotEditable(f"the edit brings up {next(iter(new))[1]}")
    if unknown := Counter(row.key for row in after.unknown_keys) - Counter(row.key for row in before.unknown_keys):
        raise NotEditable(f"after the edit {next(iter(unknown))} is an unknown key")


def _serious(report: Report) -> Counter[tuple[str, str]]:
    serious: Iterable[Finding] = (finding for finding in report.findings if finding.severity != "info")
    return Counter((finding.severity, finding.rule) for finding in serious)
