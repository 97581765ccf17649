"""Reports as SARIF 2.1.0 (OASIS), for code scanning: rules with their help, results with place, fixes, suppressions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..edits.replacements import Replacement
from ..model import Finding, Report, SettingRef, UnknownKeyRow, clean, place_of
from ..store.index import index, section

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_BASE = "%SRCROOT%"
_UNKNOWN_KEY = "unknown-key"

Fixes = Mapping[int, Sequence[Replacement]]  # index of a finding -> its fix


class SarifLog:
    """Collects the results of one run after the other; only what stands in the log is kept of a report."""

    def __init__(self, version: str) -> None:
        self._version = version  # of the program
        self._rules: dict[str, dict[str, Any]] = {}
        self._results: list[dict[str, Any]] = []

    def add(self, report: Report, fixes: Fixes) -> None:
        """Take the findings, unknown keys and silenced findings of a report."""
        for number, finding in enumerate(report.findings):
            self._results.append(self._finding(finding, fixes.get(number, ()), report))
        told = {finding.setting.key for finding in report.findings if finding.rule == _UNKNOWN_KEY and finding.setting}
        self._results += [self._unknown_key(row) for row in report.unknown_keys if row.key not in told]
        self._results += [self._suppressed(row, report) for row in report.suppressed]

    def join(self, other: SarifLog) -> None:
        """Take the results of another log."""
        for rule, described in other._rules.items():
            self._rules.setdefault(rule, described)
        self._results += other._results

    def text(self) -> str:
        """The whole log, ending with a line break."""
        numbers = {rule: number for number, rule in enumerate(self._rules)}
        for result in self._results:
            result["ruleIndex"] = numbers[result["ruleId"]]
        driver = {
            "name": "grpo-guard",
            "version": self._version,
            "semanticVersion": self._version,
            "rules": list(self._rules.values()),
        }
        run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {_BASE: {"description": {"text": "The folder in which grpo-guard was started."}}},
            "results": self._results,
        }
        return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"

    def _finding(self, finding: Finding, fix: Sequence[Replacement], report: Report) -> dict[str, Any]:
        place = place_of(finding.setting, report)
        result = self._result(finding.rule, finding.title, finding.severity, finding.message, place)
        properties = {"confidence": finding.confidence, "pattern": finding.pattern, "bugs": finding.bugs}
        result["properties"] = {name: value for name, value in properties.items() if value}
        if finding.fix is not None and finding.fix.text:
            result["message"]["text"] += f"\nFix: {clean(finding.fix.text)}"
        if finding.fix is not None and fix:
            result["fixes"] = [_fix(finding.fix.text or "Edit the setting.", finding.fix.safety, fix)]
        return result

    def _unknown_key(self, row: UnknownKeyRow) -> dict[str, Any]:
        near = f" Did you mean {' or '.join(row.did_you_mean)}?" if row.did_you_mean else ""
        place = SettingRef("", row.key, None, "explicit", row.file, row.line)
        title = section("lints")[_UNKNOWN_KEY]
        return self._result(_UNKNOWN_KEY, title, "warning", f"{row.key}: {row.note}.{near}", place)

    def _suppressed(self, row: Mapping[str, Any], report: Report) -> dict[str, Any]:
        found = row["finding"]
        setting = SettingRef("", found.get("key", ""), None, "", found.get("file", ""), found.get("line", 0))
        place = place_of(setting, report)
        result = self._result(row["rule"], found["title"], found["severity"], found["message"], place)
        kind = "inSource" if row["line"] else "external"
        suppression: dict[str, Any] = {"kind": kind, "justification": clean(row["reason"])}
        if row["line"]:
            suppression["location"] = _location(row["file"], row["line"])
        return {**result, "suppressions": [suppression]}

    def _result(self, rule: str, title: str, severity: str, message: str, setting: SettingRef) -> dict[str, Any]:
        if rule not in self._rules:
            self._rules[rule] = _rule(rule, title)
        result: dict[str, Any] = {
            "ruleId": rule,
            "level": _LEVELS[severity],
            "message": {"text": clean(message)},
        }
        if setting.file and not setting.file.startswith("<"):
            location = _location(setting.file, setting.line)
            if setting.key:
                location["logicalLocations"] = [{"fullyQualifiedName": clean(setting.key), "kind": "member"}]
            result["locations"] = [location]
        mark = "\n".join((rule, setting.file, setting.key))
        result["partialFingerprints"] = {"ruleFileKey/v1": hashlib.sha256(mark.encode("utf-8", "replace")).hexdigest()}
        return result


def sarif_text(reports: Iterable[tuple[Report, Fixes]], version: str) -> str:
    """SARIF of some reports, each with the fixes of its findings. version: of the program."""
    log = SarifLog(version)
    for report, fixes in reports:
        log.add(report, fixes)
    return log.text()


def _rule(rule: str, title: str) -> dict[str, Any]:
    """What is known of a rule; one of the project's own has its title only."""
    known = next((row for group in ("rules", "bug_rules") for row in index()[group] if row["id"] == rule), None)
    described: dict[str, Any] = {"id": rule, "shortDescription": {"text": clean(title)}}
    if known is None:
        return described
    urls = [reference["url"] for reference in known["references"]]
    described["helpUri"] = urls[0]
    described["help"] = {"text": "\n".join([*_help(known), *(f"See {url}" for url in urls)])}
    described["defaultConfiguration"] = {"level": _LEVELS[known["severity"]]}
    tags = [*known.get("frameworks", ()), *([known["pattern"]] if known.get("pattern") else [])]
    described["properties"] = {"tags": tags, "precision": _PRECISION[known.get("confidence", "high")]}
    return described


_PRECISION = {"high": "high", "medium": "medium", "low": "low"}


def _help(rule: Mapping[str, Any]) -> list[str]:
    """Message and fix as the rule has them, with the names of fields in braces."""
    texts = [rule.get("message"), (rule.get("fix") or {}).get("text")]
    return [clean(" ".join(text.split())).replace(".key}", "}") for text in texts if text]


def _fix(text: str, safety: str, changes: Sequence[Replacement]) -> dict[str, Any]:
    return {
        "description": {"text": clean(text)},
        "properties": {"safety": safety},
        "artifactChanges": [
            {"artifactLocation": _artifact(change.file), "replacements": [_replacement(change)]} for change in changes
        ],
    }


def _replacement(change: Replacement) -> dict[str, Any]:
    region = {
        "startLine": change.line,
        "startColumn": change.column,
        "endLine": change.end_line,
        "endColumn": change.end_column,
    }
    return {"deletedRegion": region, "insertedContent": {"text": change.text}}


def _location(file: str, line: int) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(file)}
    if line:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def _artifact(file: str) -> dict[str, Any]:
    """Relative to where grpo-guard was started, where it lies below; else as a file URI."""
    path, here = Path(file), Path.cwd()
    absolute = path if path.is_absolute() else here / path
    if absolute.is_relative_to(here) and ".." not in path.parts:
        return {"uri": quote(absolute.relative_to(here).as_posix(), errors="replace"), "uriBaseId": _BASE}
    return {"uri": "file://" + quote(absolute.resolve().as_posix(), errors="replace")}
