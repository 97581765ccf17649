"""Findings as workflow commands, which GitHub shows at the lines of a pull request."""

from __future__ import annotations

from pathlib import Path

from ..model import Finding, Report, SettingRef, UnknownKeyRow, clean, place_of

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def github_text(report: Report) -> str:
    """One line per finding and unknown key, e.g. `::error file=run.sh,line=3,title=...::message`."""
    lines = [_finding(finding, report) for finding in report.findings]
    told = {finding.setting.key for finding in report.findings if finding.rule == "unknown-key" and finding.setting}
    lines += [_unknown_key(row) for row in report.unknown_keys if row.key not in told]
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, report: Report) -> str:
    fix = f"\nfix: {finding.fix.text}" if finding.fix is not None else ""
    title = f"{finding.title} [{finding.rule}]"
    place = _place(place_of(finding.setting, report))
    return _command(_LEVELS[finding.severity], place, title, finding.message + fix)


def _unknown_key(row: UnknownKeyRow) -> str:
    near = f"; did you mean {', '.join(row.did_you_mean)}?" if row.did_you_mean else ""
    place = SettingRef("", row.key, None, "explicit", row.file, row.line)
    return _command("warning", _place(place), "Unknown key [unknown-key]", f"{row.key}: {row.note}{near}")


def _place(setting: SettingRef) -> dict[str, str]:
    if not setting.file or setting.file.startswith("<"):
        return {}
    file = Path(setting.file)
    here = Path.cwd()
    shown = file.relative_to(here) if file.is_relative_to(here) else file
    return {"file": shown.as_posix(), **({"line": str(setting.line)} if setting.line else {})}


def _command(level: str, place: dict[str, str], title: str, message: str) -> str:
    properties = ",".join(f"{name}={_property(value)}" for name, value in {**place, "title": title}.items())
    return f"::{level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """As the runner's toolkit escapes a message: it reads one line, and % starts an escape."""
    return clean(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    """As a message; a colon or a comma would end the property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
