"""What a caller hands over, gathered into one thing that the ranking reads: words, log lines, settings, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..configs.files import clean, printable
from ..configs.values import InputError
from ..limits import MAX_SYMPTOM_CHARS
from ..model import Curve, Finding
from . import signatures
from .model import Signal


@dataclass(slots=True)
class Evidence:
    """All that is known of the run. Texts are the user's: data, never instructions."""

    words: str = ""
    lines: list[str] = field(default_factory=list)  # of the logs, those that tell something
    config: str = ""
    framework: str = ""
    versions: dict[str, str] = field(default_factory=dict)  # of packages, comparable
    facts: list[str] = field(default_factory=list)  # NAME=VALUE that is no version: "gpu=4090"
    hits: list[signatures.Hit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)  # pattern: the signals of the logs that speak for it
    leanings: dict[str, float] = field(default_factory=dict)  # pattern: what the signals of the logs say for it
    curves: list[Curve] = field(default_factory=list)
    printed: dict[str, Any] = field(default_factory=dict)  # settings that the run itself printed
    log_read: bool = False  # whether a log holds more than blanks
    coverage: dict[str, Any] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        # Of a log in which nothing was understood, that is said.
        return not (self.log_read or self.words.strip() or self.config.strip() or self.signals)


def gather(
    words: str,
    logs: Sequence[Path | str],
    config: str,
    framework: str,
    versions: Mapping[str, str],
) -> Evidence:
    """Read everything once. Raises InputError for a file that cannot be read; odd content never raises."""
    from .log_evidence import take_logs

    found = Evidence(clean(words[:MAX_SYMPTOM_CHARS]), config=clean(config), framework=framework.strip().lower())
    found.coverage = {"files": [], "notes": []}
    if len(words) > MAX_SYMPTOM_CHARS:
        found.coverage["notes"].append(f"only the first {MAX_SYMPTOM_CHARS:,} characters of the words were read")
    _take_versions(found, versions)
    if logs:
        take_logs(found, logs)
    # What people paste as their words often holds the error line.
    found.hits += signatures.find(found.words.splitlines(), "words")
    _take_config(found)
    return found


def _take_versions(found: Evidence, versions: Mapping[str, str]) -> None:
    from ..store.versions import is_version

    for name, value in versions.items():
        if is_version(value):
            found.versions[name.lower().replace("_", "-")] = value
        else:
            found.facts.append(f"{name}={value}")


def _take_config(found: Evidence) -> None:
    """Run the rules on the config, or else on what the run printed; what cannot be read is coverage, not an error."""
    text = found.config if found.config.strip() else "\n".join(f"{key}={value}" for key, value in found.printed.items())
    if not text:
        return
    from ..validate import validate_text
    from .really_ran import settings_that_differ

    try:
        report = validate_text(text, framework=found.framework, versions=found.versions)
    except InputError as error:
        found.coverage["notes"].append(f"config: {printable(error, 200)}")
        return
    found.findings = list(report.findings)
    if found.config.strip() and found.printed:
        found.signals += settings_that_differ(found)
    found.framework = found.framework or report.framework
    found.versions = {**report.versions, **found.versions}
    found.coverage["config"] = {"format": [source["format"] for source in report.sources], "notes": report.notes[:5]}
