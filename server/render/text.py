"""Report → text a person likes to read: worst first, file and line, the fix, then what was computed and left open."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from ..model import Finding, Report, SettingRef, Undecided, UnknownKeyRow, clean, plain

_WIDTH = 100
_COLOURS = {"error": "31;1", "warning": "33;1", "info": "36;1", "dim": "2", "bold": "1"}
_SHOWN_UNDECIDED = 5
_BATCH_NAMES = {
    "prompts_per_step": "prompts per step",
    "samples_per_step": "samples per step",
    "tokens_per_step": "tokens per step, at most",
    "samples_per_gpu": "samples per GPU",
    "samples_per_optimizer_step": "samples per optimizer step",
    "optimizer_steps_per_rollout": "optimizer steps per rollout",
    "mini_batches": "mini-batches per step",
    "micro_steps": "micro-steps per mini-batch",
}


def render(report: Report, *, colour: bool = False, detail: str = "normal") -> str:
    """The whole report, ending with a line break.

    detail: "brief" has findings and counts; "normal" adds the batch table and what was not decided; "full" adds every
    effective setting with its origin and the assumptions that were made.
    """
    paint = _Paint(colour)
    blocks = [_header(report, paint)]
    blocks += [_finding(finding, paint, detail) for finding in report.findings]
    told = {finding.setting.key for finding in report.findings if finding.rule == "unknown-key" and finding.setting}
    if unknown := [row for row in report.unknown_keys if row.key not in told]:
        blocks.append(_unknown_keys(unknown, paint))
    if detail != "brief":
        blocks += [_batch(report, paint)] if report.batch else []
        blocks += [_undecided(report.undecided, paint, detail)] if report.undecided else []
    if report.seed_rules:
        blocks.append(_seed_rules(report))
    if detail == "full":
        blocks += [_settings(report, paint)] if report.settings else []
        blocks += [_list("Assumed while reading", report.assumptions, paint)] if report.assumptions else []
    if report.notes and detail != "brief":
        blocks.append(_list("Notes", report.notes, paint))
    blocks.append(_summary(report, paint))
    return clean_keeping_colour("\n\n".join(blocks)) + "\n"


def clean_keeping_colour(text: str) -> str:
    """Control characters out, our own colour codes left in."""
    return "\x1b".join(clean(piece) for piece in text.split("\x1b"))


class _Paint:
    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if self._on else text


def _quoted(text: object) -> str:
    """User text inside our output: an escape character of the input must not reach the terminal."""
    return clean(str(text)).replace("\x1b", "�")


def _header(report: Report, paint: _Paint) -> str:
    name = report.framework or "unknown framework"
    versions = ", ".join(f"{package} {version}" for package, version in sorted(report.versions.items()))
    files = ", ".join(dict.fromkeys(_quoted(source["path"]) for source in report.sources))
    return paint("bold", f"{name}: {files}") + (f"  ({versions})" if versions else "  (no versions given)")


def _finding(finding: Finding, paint: _Paint, detail: str) -> str:
    lines = [f"{paint(finding.severity, finding.severity)}  {finding.title}  {paint('dim', '[' + finding.rule + ']')}"]
    if finding.setting is not None:
        lines.append("  " + _place(finding.setting))
    lines += _wrapped(finding.message)
    if finding.fix is not None:
        lines += _wrapped("fix: " + finding.fix.text)
    if detail != "brief" and finding.references:
        lines.append(paint("dim", f"  see: {finding.references[0]}"))
    if detail == "full":
        lines += [paint("dim", f"       {url}") for url in finding.references[1:]]
    return "\n".join(lines)


def _place(setting: SettingRef) -> str:
    where = f"{_quoted(setting.file)}:{setting.line}" if setting.file else _origin(setting)
    if not setting.key:
        return where
    if setting.value is None and not setting.file:
        return f"{where}  {_quoted(setting.key)}"
    shown = setting.key if setting.value is None else f"{setting.key}={_value(setting.value)}"
    return f"{where}  {_quoted(shown)}"


def _origin(setting: SettingRef) -> str:
    if setting.origin == "default":
        return f"default of {setting.version}" if setting.version else "unset"
    return f"{setting.origin} {setting.version}".strip()


def _value(value: object) -> str:
    shown = plain(value)
    if isinstance(shown, bool):
        return str(shown).lower()
    return "null" if shown is None else str(shown)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        _quoted(text),
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _unknown_keys(rows: Iterable[UnknownKeyRow], paint: _Paint) -> str:
    lines = [paint("bold", "Unknown keys")]
    for row in rows:
        near = f"; did you mean {', '.join(row.did_you_mean)}?" if row.did_you_mean else ""
        lines.append(f"  {_quoted(row.file)}:{row.line}  {_quoted(row.key)}: {_quoted(row.note)}{_quoted(near)}")
    return "\n".join(lines)


def _batch(report: Report, paint: _Paint) -> str:
    lines = [paint("bold", "Batch")]
    formulas = report.batch.get("formula", {})
    for name, value in report.batch.items():
        if name != "formula":
            number = f"{value:,}" if isinstance(value, int) else f"{value}"
            formula = f"   {paint('dim', formulas[name])}" if name in formulas else ""
            lines.append(f"  {_BATCH_NAMES.get(name, name.replace('_', ' ')):<28} {number:>14}{formula}")
    return "\n".join(lines)


def _undecided(rows: list[Undecided], paint: _Paint, detail: str) -> str:
    shown = rows if detail == "full" else rows[:_SHOWN_UNDECIDED]
    lines = [paint("bold", f"Not decided ({len(rows)})")]
    lines += [f"  {row.rule}: needs {_quoted(', '.join(row.needs))}" for row in shown]
    if len(shown) < len(rows):
        lines.append(paint("dim", f"  {len(rows) - len(shown)} more with --detail full"))
    return "\n".join(lines)


def _seed_rules(report: Report) -> str:
    return "\n".join(
        f"  {row.id}  {row.status:<14} {row.answer:<11} {row.title}: {row.note}" for row in report.seed_rules
    )


def _settings(report: Report, paint: _Paint) -> str:
    lines = [paint("bold", "Effective settings")]
    for setting in sorted(report.settings, key=lambda row: (row.origin != "explicit", row.field)):
        where = f"{setting.file}:{setting.line}" if setting.file else _origin(setting)
        lines.append(_quoted(f"  {setting.field:<28} {_value(setting.value):<24} {setting.key}  ({where})"))
    return "\n".join(lines)


def _list(title: str, rows: Iterable[str], paint: _Paint) -> str:
    lines = [paint("bold", title)]
    for row in rows:
        lines += textwrap.wrap(_quoted(row), _WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return "\n".join(lines)


def _summary(report: Report, paint: _Paint) -> str:
    counts = report.summary
    parts = [paint(level, _counted(counts[level], level)) if counts[level] else _counted(0, level) for level in
             ("error", "warning", "info")]  # fmt: skip
    rest = f"{counts['pass']} checks passed, {counts['unknown']} not decided, {counts['not_applicable']} not applicable"
    suppressed = f", {len(report.suppressed)} suppressed" if report.suppressed else ""
    return f"{', '.join(parts)}{suppressed}; {rest}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("s" if count != 1 else "")
