"""validate: from files or text to a Report. The one entry point of the command line and of the MCP tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .checks.engine import Verdict, check_others, check_run, known_versions, needs_of, setting_ref
from .checks.expr import Unknown
from .checks.outcome import NotApplicable, Pass
from .checks.package_versions import newer_than_data
from .checks.suppression import suppressions
from .configs.adapters.common import Options
from .configs.assembly import ADAPTERS, Follower, adapter_module, build_runs, checkout_versions, project_folder
from .configs.keys_suggest import hint
from .configs.reading import Reading, read_pasted, read_path
from .configs.run_config import RunConfig, UnknownKey
from .configs.values import InputError, Lint
from .deadline import passed
from .limits import MAX_INCLUDES
from .model import SEVERITIES, Edit, Finding, Fix, Report, SettingRef, Undecided, UnknownKeyRow
from .paths import PROJECT_FILE
from .store.index import elsewhere, section

if TYPE_CHECKING:
    from .project_file import ProjectFile


def validate_text(
    text: str,
    *,
    framework: str = "",
    versions: Mapping[str, str] | None = None,
    gpu: str = "",
    world_size: int | None = None,
    focus: str = "all",
    ruleset: str = "all",
    settings: Mapping[str, Any] | None = None,
) -> Report:
    """Validate pasted text: a script, a config, one command or a few overrides. Raises InputError."""
    options = _options(versions, gpu, world_size, settings)
    return _report(read_pasted(text), options, framework, focus, ruleset)


def validate_targets(
    paths: Sequence[Path],
    *,
    root: Path | None = None,
    framework: str = "",
    versions: Mapping[str, str] | None = None,
    gpu: str = "",
    world_size: int | None = None,
    focus: str = "all",
    ruleset: str = "all",
    settings: Mapping[str, Any] | None = None,
    texts: Mapping[Path, str] | None = None,
) -> Report:
    """Validate one run described by one or several files.

    root: nothing outside it is read when a file names another one; within it, the project folder of the first file
    bounds it further. texts: what files (by resolved path) are taken to hold, in place of what they hold.
    Raises InputError when a file cannot be read.
    """
    places = {str(path): path.resolve() for path in paths}
    project = project_folder(paths[0])
    if root is not None and not project.is_relative_to(root.resolve()):
        project = root.resolve()
    own = _project_file(paths[0], project)
    if own is not None:
        versions, gpu, world_size = {**own.versions, **_names(versions)}, gpu or own.gpu, world_size or own.world_size
    options = _options(versions, gpu, world_size, settings)
    follower = Follower(project, places, MAX_INCLUDES, texts)
    options.root, options.load = project, follower.load
    reading = Reading()
    for package, version in checkout_versions(project).items():
        if package not in options.versions:
            options.versions[package] = version
            reading.notes.append(f"{package} {version}: the version of the checkout that holds the file")
    for place, path in enumerate(paths):
        if place and passed(_READING_SHARE):
            reading.notes.append(f"the time was over: {len(paths) - place} of {len(paths)} files were not read")
            break
        reading.add(read_path(path, project, texts=texts))
    return _report(reading, options, framework, focus, ruleset, own)


def _project_file(target: Path, project: Path) -> ProjectFile | None:
    """What the project states in `.grpo-guard.yaml`, beside the target or above it inside the project folder."""
    folder = target.resolve().parent
    for place in (folder, *folder.parents):
        if (place / PROJECT_FILE).exists():
            from .project_file import find_project_file, load_project_file

            found = find_project_file(target, project)
            return load_project_file(found, project) if found is not None else None
        if place == project:
            break
    return None


def _names(versions: Mapping[str, str] | None) -> dict[str, str]:
    return {name.lower().replace("_", "-"): value for name, value in (versions or {}).items()}


def _options(
    versions: Mapping[str, str] | None, gpu: str, world_size: int | None, settings: Mapping[str, Any] | None
) -> Options:
    from .store.versions import is_version

    given = _names(versions)
    for name, value in given.items():
        if not is_version(value):
            raise InputError(f"{name}={value}: not a version; write it like {name}=0.8.0")
    if world_size is not None and world_size < 1:
        raise InputError(f"world size {world_size}: must be at least 1 GPU")
    known = section("fields") if settings else {}
    for name in settings or {}:
        if name not in known:
            raise InputError(f"--set {name}: no such field; see `grpo-guard rules --fields`{hint(name, known, 70)}")
    return Options(given, world_size, gpu, dict(settings or {}))


def _report(
    reading: Reading, options: Options, framework: str, focus: str, ruleset: str, own: ProjectFile | None = None
) -> Report:
    runs = build_runs(reading, options, framework.lower())
    primary = runs[0]
    report = Report(primary.framework, versions=dict(primary.versions), notes=list(reading.notes))
    report.sources = _sources(runs)
    verdicts = _verdicts(runs, focus, report, own.rules if own is not None else ())
    findings = [finding for run, answers in zip(runs, verdicts, strict=False) for finding in _findings(run, answers)]
    _suppress(report, _ordered(_distinct(findings)), reading, own)
    report.unknown_keys = [
        UnknownKeyRow(row.key, row.file, row.line, list(row.did_you_mean), row.note, _renaming(row))
        for run in runs
        for row in run.unknown_keys
    ]
    report.undecided = [
        Undecided(verdict.rule["id"], needs_of(verdict.outcome, primary), verdict.rule["title"])
        for verdict in sorted(verdicts[0], key=lambda verdict: not known_versions(verdict.rule, primary))
        if isinstance(verdict.outcome, Unknown)
    ]
    report.summary = _summary(report, verdicts[0], elsewhere(primary.framework, focus))
    report.batch = _batch(primary)
    report.settings = [ref for name in primary.settings if (ref := setting_ref(primary, name)) is not None]
    report.assumptions = list(dict.fromkeys(line for run in runs for line in _assumptions(run)))
    report.notes += _notes(runs)
    if ruleset == "seed" and not passed():
        from .checks.seed import seed_rows

        report.seed_rules = seed_rows(primary, [*verdicts[0], *check_others(primary, focus)])
    return report


_READING_SHARE = 0.7  # of a request's time; the rest is for the rules


def _verdicts(
    runs: Sequence[RunConfig], focus: str, report: Report, own: Sequence[dict[str, Any]]
) -> list[list[Verdict]]:
    """The answers of all rules on each run, or on those that the request's time is enough for."""
    found: list[list[Verdict]] = []
    for run in runs:
        found.append(check_run(run, focus, own))
        if passed():
            report.notes.append(
                f"the time was over: {len(found)} of {len(runs)} launches were checked, the last one perhaps not "
                "against every rule; what is not named here was not looked at"
            )
            break
    return found


def _suppress(report: Report, findings: Iterable[Finding], reading: Reading, own: ProjectFile | None) -> None:
    """Keep the findings that neither a comment in the user's files nor the project file silences; count the others."""
    comments = suppressions(reading.texts)
    for finding in findings:
        by = next((comment for comment in comments if comment.covers(finding)), None)
        if by is not None:
            report.suppressed.append(_suppressed(finding, by.file, by.line, by.reason))
        elif own is not None and (entry := own.ignored(finding.rule)) is not None:
            report.suppressed.append(_suppressed(finding, own.shown, 0, entry.reason) | {"until": str(entry.until)})
        else:
            report.findings.append(finding)
    report.notes += own.notes() if own is not None else []
    for comment in comments:
        if not comment.reason:
            report.notes.append(f"{comment.file}:{comment.line}: an ignore comment needs a reason; it silenced nothing")


def _suppressed(finding: Finding, file: str, line: int, reason: str) -> dict[str, Any]:
    """A silenced finding: where and why it is silenced (line 0: in the project file), and what it says."""
    place = finding.setting
    what = {"severity": finding.severity, "title": finding.title, "message": finding.message}
    where = {"file": place.file, "line": place.line, "key": place.key} if place is not None else {}
    return {"rule": finding.rule, "file": file, "line": line, "reason": reason, "finding": {**what, **where}}


def _sources(runs: Sequence[RunConfig]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for run in runs:
        for source in run.sources:
            row = rows.setdefault(
                (source.path, source.format), {"path": source.path, "format": source.format, "keys": 0}
            )
            row["keys"] = max(row["keys"], source.keys)
    return list(rows.values())


# Said among the assumptions: a launch script that takes a variable from the environment is no fault
_ASSUMED = ("shell-unset-variable",)


def _findings(run: RunConfig, verdicts: Sequence[Verdict]) -> list[Finding]:
    return [
        *(lint_finding(lint) for lint in run.lints if lint.rule not in _ASSUMED),
        *(unknown_key_finding(row, run) for row in run.unknown_keys if row.fatal),
        *(verdict.finding for verdict in verdicts if verdict.finding is not None),
    ]


def _assumptions(run: RunConfig) -> Iterable[str]:
    yield from run.assumptions
    for lint in run.lints:
        if lint.rule in _ASSUMED:
            yield f"line {lint.line}: {lint.message}"


def lint_finding(lint: Lint) -> Finding:
    """A fault of the text itself as a finding."""
    place = SettingRef("", "", None, "explicit", lint.file, lint.line)
    title = section("lints").get(lint.rule, lint.rule)
    fix = Fix(lint.fix) if lint.fix else None
    return Finding(lint.rule, lint.severity, "high", title, lint.message, setting=place, fix=fix)


def unknown_key_finding(row: UnknownKey, run: RunConfig) -> Finding:
    """A key on which the framework stops at start-up."""
    near = f" Did you mean {' or '.join(row.did_you_mean)}?" if row.did_you_mean else ""
    renaming = _renaming(row)
    place = SettingRef("", row.key, None, "explicit", row.file, row.line)
    message = f"{run.framework} stops at start-up: it does not know {row.key} ({row.note}).{near}"
    fix = Fix(f"Rename it to {row.did_you_mean[0]}, or remove it.") if row.did_you_mean else Fix("Remove it.")
    if renaming is not None:
        fix.edits, fix.safety = renaming.edits, renaming.safety
    return Finding("unknown-key", "error", "high", section("lints")["unknown-key"], message, setting=place, fix=fix)


def _renaming(row: UnknownKey) -> Fix | None:
    """The edit where the new name is certain. It is safe where the framework stops at the old name; where it ignores
    it, the setting takes effect from then on."""
    if not row.new_name:
        return None
    edit = Edit(row.key, file=row.file, line=row.line, action="rename", new_key=row.new_name)
    return Fix(f"Rename it to {row.new_name}.", [edit], "safe" if row.fatal else "unsafe")


def _distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Several launches of one script share settings: the same fault at the same place is told once."""
    seen: dict[tuple[Any, ...], Finding] = {}
    for finding in findings:
        place = finding.setting
        key = (finding.rule, finding.message, place.file if place else "", place.line if place else 0)
        seen.setdefault(key, finding)
    return list(seen.values())


def _ordered(findings: Iterable[Finding]) -> list[Finding]:
    def order(finding: Finding) -> tuple[Any, ...]:
        place = finding.setting
        where = (place.file, place.line) if place else ("", 0)
        return (SEVERITIES.index(finding.severity), *where, finding.rule)

    return sorted(findings, key=order)


def _summary(report: Report, verdicts: Sequence[Verdict], elsewhere: int) -> dict[str, int]:
    """How many findings and verdicts of each kind; `elsewhere`: rules for other frameworks, which do not apply."""
    counts = {level: sum(finding.severity == level for finding in report.findings) for level in SEVERITIES}
    kinds = {"pass": Pass, "not_applicable": NotApplicable, "unknown": Unknown}
    for name, kind in kinds.items():
        counts[name] = sum(isinstance(verdict.outcome, kind) for verdict in verdicts)
    counts["not_applicable"] += elsewhere
    return counts


def _batch(run: RunConfig) -> dict[str, Any]:
    if run.framework not in ADAPTERS:
        return {}
    batch: dict[str, Any] = adapter_module(run.framework).batch(run)
    return batch


def _notes(runs: Sequence[RunConfig]) -> list[str]:
    notes = list(dict.fromkeys(note for run in runs for note in run.notes))
    notes += newer_than_data(runs[0])
    if runs[0].partial:
        notes.append(f"{runs[0].partial}: what rests on keys that are not set here is not decided")
    if len(runs) > 1:
        lines = ", ".join(str(run.line) for run in runs)
        notes.append(f"{len(runs)} launches were checked (lines {lines}); settings and batch are those of the first")
    return notes
