"""Runs every rule of the compiled knowledge over one run.

A rule concerns a run when its framework is listed, its version range is not ruled out and `applies_when` is true. Then
`condition` (or a code check, for arithmetic) decides. Three answers are possible everywhere: true, false, unknown; an
unknown names the native keys that would decide it and is never counted as passed.

A rule bound to versions that are not known can still fire, but not as an error: it says "possible if ..." and is a
warning where the newest release known to the rule is still affected, else an info.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..configs.run_config import DEFAULT, EXPLICIT, RunConfig, Setting
from ..configs.values import Unresolved
from ..deadline import passed
from ..model import SEVERITIES, Edit, Finding, Fix, SettingRef
from ..store.index import index, package_of, rules_of, section
from ..store.versions import surely_in_range
from .expr import Unknown, evaluate, fields_of
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome

Rule = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Answer of one rule on one run."""

    rule: Rule
    outcome: Outcome
    finding: Finding | None = None


class RunScope:
    """A run as the expression engine sees it (protocol `expr.Scope`)."""

    def __init__(self, run: RunConfig) -> None:
        self._run = run

    def field_value(self, name: str) -> Any:
        setting = self._run.settings.get(name)
        if setting is None and name in self._run.absent:
            return None  # a setting that this version does not have yet (or any more) is off
        if setting is None or isinstance(setting.value, Unresolved):
            return Unknown(frozenset([name]))
        return setting.value

    def env_value(self, name: str) -> Any:
        setting = self._run.env.get(name)
        if setting is None:
            return None
        return setting.value if setting.known else Unknown(frozenset([f"env.{name}"]))

    def is_explicit(self, name: str) -> bool:
        setting = self._run.settings.get(name)
        return setting is not None and setting.origin == "explicit"

    def is_known(self, name: str) -> bool:
        setting = self._run.settings.get(name)
        return setting is not None and setting.known


class _WrittenScope(RunScope):
    """The same run without defaults."""

    def field_value(self, name: str) -> Any:
        setting = self._run.settings.get(name)
        if setting is not None and setting.origin == DEFAULT:
            return Unknown(frozenset([name]))
        return super().field_value(name)


def check_run(run: RunConfig, focus: str = "all", own: Sequence[Rule] = ()) -> list[Verdict]:
    """Answer of every rule, of every bug whose trigger a config shows, and of every pair of releases that fails.

    Those that name only other frameworks are left out. focus: only those that carry this tag. own: compiled rules of
    the project. Stops where the request's time is over; the caller says so.
    """
    verdicts = []
    for rule in (*rules_of(run.framework), *own):
        if passed():
            break
        if focus == "all" or focus in rule.get("focus", ()):
            verdicts.append(check_rule(rule, run))
    return verdicts


def check_others(run: RunConfig, focus: str = "all") -> list[Verdict]:
    """The rules that `check_run` leaves out: each says for which frameworks it is."""
    rules = (rule for rule in index()["rules"] if run.framework not in rule.get("frameworks", (run.framework,)))
    return [check_rule(rule, run) for rule in rules if focus == "all" or focus in rule.get("focus", ())]


def check_rule(rule: Rule, run: RunConfig) -> Verdict:
    """Answer of one rule."""
    rule = in_framework(rule, run.framework)
    outcome, certain = _decide(rule, run)
    if isinstance(outcome, Hit) and not certain and (package := _one_release_only(rule, run)):
        outcome = Unknown(frozenset([f"{package.replace('-', '_')}_version"]))
    if isinstance(outcome, Hit) and run.partial:
        anchor = outcome.anchor or rule.get("anchor", "")
        outcome = Unknown(frozenset([anchor])) if _may_be_set_elsewhere(anchor, run) else outcome
        if isinstance(outcome, Hit) and "condition" in rule:
            outcome = _without_defaults(rule, run) or outcome
    finding = _finding(rule, run, outcome, certain) if isinstance(outcome, Hit) else None
    return Verdict(rule, outcome, finding)


def in_framework(rule: Rule, framework: str) -> Rule:
    """The rule with what the framework has of its own (`affected_in`, `per_framework`)."""
    ranges = rule.get("affected_in", {}).get(framework)
    own = rule.get("per_framework", {}).get(framework, {})
    if ranges is None and not own:
        return rule
    decides_alone = "condition" in own or "code" in own
    decision = ("applies_when", "condition", "code") if decides_alone else ()
    kept = {name: value for name, value in rule.items() if name not in decision}
    return {**kept, **own, **({} if ranges is None else {"affected": ranges})}


def _one_release_only(rule: Rule, run: RunConfig) -> str:
    """A package of unknown version of which the rule concerns patch releases of one minor release only, else "".

    "Possible if" would be said to everybody, for a fault that hardly anybody has; the version is asked for instead.
    """
    for package, bounds in rule["affected"].items():
        if package in run.without:
            continue
        if package not in run.versions and all(_within_a_minor_release(spec) for spec in _specs(bounds)):
            return str(package)
    return ""


_MINOR_RANGE = re.compile(r">=(\d+)\.(\d+)[\w.]*,?\s*(<=?)(\d+)\.(\d+)((?:\.0)*$)?")


def _within_a_minor_release(spec: str) -> bool:
    """Whether a range has patch releases of one minor release only: ">=0.3.1,<=0.3.4", or ">=0.3.1,<0.4.0"."""
    match = _MINOR_RANGE.match(spec.strip())
    if match is None:
        return False
    first, last = (int(match[1]), int(match[2])), (int(match[4]), int(match[5]))
    ends_before = match[3] == "<" and match[6] is not None
    return last == first or (ends_before and last == (first[0], first[1] + 1))


def _may_be_set_elsewhere(anchor: str, run: RunConfig) -> bool:
    """Whether a finding rests on a key that the user did not write, in a run of which only a part is known."""
    setting = run.settings.get(anchor)
    return bool(anchor) and (setting is None or setting.origin == DEFAULT or setting.value is None)


def _without_defaults(rule: Rule, run: RunConfig) -> Unknown | None:
    """What the condition is open to when settings that nobody wrote are not known, None when it holds all the same."""
    value = evaluate(rule["condition"], _WrittenScope(run))
    return value if isinstance(value, Unknown) else None


def _decide(rule: Rule, run: RunConfig) -> tuple[Outcome, bool]:
    """Outcome, and whether the version range (if any) is known to hold."""
    if run.framework not in rule.get("frameworks", (run.framework,)):
        return NotApplicable(f"a rule for {', '.join(rule['frameworks'])}"), True
    affected = _affected(rule, run)
    if affected is False:
        return NotApplicable("version not affected"), True
    if affected is None and rule.get("needs_versions"):
        return NotApplicable("not all of its versions are known"), True
    if rule.get("anchor") in run.absent and rule["anchor"] not in run.settings:
        return NotApplicable(f"this version of {run.framework} has no {run.key_of(rule['anchor'])}"), True
    scope = RunScope(run)
    if "applies_when" in rule:
        applies = evaluate(rule["applies_when"], scope)
        if isinstance(applies, Unknown):
            return _carried(applies, run, rule), True
        if not applies:
            return NOT_APPLICABLE, True
    if "code" in rule:
        return _code_check(rule["code"], run), affected is True
    value = evaluate(rule["condition"], scope)
    if isinstance(value, Unknown):
        return _carried(value, run, rule), True
    return (Hit(rule.get("anchor", "")) if value else PASS), affected is True


def _carried(unknown: Unknown, run: RunConfig, rule: Rule) -> Outcome:
    """Undecided, unless the framework has no such setting at all."""
    missing = [name for name in unknown.needs if not _framework_has(name, run)]
    if missing:
        return NotApplicable(f"{run.framework} has no setting for {', '.join(sorted(missing))}")
    return unknown


def _framework_has(name: str, run: RunConfig) -> bool:
    return name.startswith("env.") or name in run.settings or name in run.keys or name in _CALLER_FIELDS


_CALLER_FIELDS = ("gpu", "world_size", "data_parallel_size", "is_moe")


def _affected(rule: Rule, run: RunConfig) -> bool | None:
    """Whether the rule's version ranges hold: True, False, or None when a version is not known.

    Every package named must be in one of its ranges, those aside that the run does not use (a framework whose releases
    came under two names); a rule without ranges holds for all versions. A development build whose line crosses a bound
    is not known.
    """
    stated: dict[str, str | list[str]] = rule.get("affected", {})
    ranges = {name: bounds for name, bounds in stated.items() if name not in run.without}
    if stated and not ranges:
        return False
    answers = [_in_any(run.versions.get(name), _specs(bounds)) for name, bounds in ranges.items()]
    if any(answer is False for answer in answers):
        return False
    return None if None in answers else True


def _in_any(version: str | None, specs: list[str]) -> bool | None:
    if version is None:
        return None
    answers = [surely_in_range(version, spec) for spec in specs]
    return True if True in answers else None if None in answers else False


def known_versions(rule: Rule, run: RunConfig) -> bool:
    """Whether the versions that a rule is bound to are known."""
    return all(package in run.versions for package in rule.get("affected", ()))


def _specs(bounds: str | list[str]) -> list[str]:
    return [bounds] if isinstance(bounds, str) else bounds


def version_text(affected: dict[str, str | list[str]]) -> str:
    """Affected ranges in words: "deepspeed >=0.15.2 <0.19.0"."""
    return " and ".join(
        f"{name} {' or '.join(spec.replace(',', ' ') for spec in _specs(bounds))}" for name, bounds in affected.items()
    )


def _code_check(name: str, run: RunConfig) -> Outcome:
    module, function = name.split(".")
    outcome: Outcome = getattr(import_module(f".{module}", __package__), function)(run)
    return outcome


def _finding(rule: Rule, run: RunConfig, hit: Hit, certain: bool) -> Finding:
    anchor = hit.anchor or rule.get("anchor", "")
    severity, confidence = rule["severity"], rule.get("confidence", "high")
    message = fill_text(hit.message or rule["message"], run)
    if not certain:
        message = f"{message} Possible if {version_text(rule['affected'])}: {_what_decides(rule, run)}"
        severity, confidence = _capped(severity, "warning" if _newest_affected(rule) else "info"), "low"
    elif confidence == "high" and _rests_on_another_release(anchor, run):
        confidence = "medium"
    if rule.get("needs_versions"):
        message = f"{' with '.join(f'{name} {run.versions[name]}' for name in rule['affected'])}: {message}"
    if rule.get("verdict") == "reported":
        severity = _capped(severity, "warning")
    return Finding(
        rule=rule["id"],
        severity=severity,
        confidence=confidence,
        title=rule["title"],
        message=message,
        pattern=rule.get("pattern", ""),
        setting=setting_ref(run, anchor),
        fix=_fix(rule, hit, run),
        seed=list(rule.get("seed", ())),
        bugs=list(rule.get("bugs", ())),
        references=[reference["url"] for reference in rule.get("references", ())],
    )


def _rests_on_another_release(anchor: str, run: RunConfig) -> bool:
    """Whether the finding is about a default that was read in another release than the one given."""
    setting, package = run.settings.get(anchor), package_of(run.framework)
    if setting is None or setting.origin != DEFAULT or package not in run.versions:
        return False
    name, _, release = setting.version.rpartition(" ")
    return name.lower() in (package, run.framework) and release != run.versions[package]


def _what_decides(rule: Rule, run: RunConfig) -> str:
    if not known_versions(rule, run):
        return "give the version to decide it."
    builds = " and ".join(f"{name} {run.versions[name]}" for name in rule["affected"])
    return f"{builds} is a development build, which may lie before or behind that."


def _capped(severity: str, cap: str) -> str:
    return max(severity, cap, key=SEVERITIES.index)


def _newest_affected(rule: Rule) -> bool:
    """Whether no upper bound ends the affected range, so that the newest release is in it."""
    return all("<" not in _specs(bounds)[-1] for bounds in rule["affected"].values())


def setting_ref(run: RunConfig, name: str) -> SettingRef | None:
    """The setting a finding cites: file, line and native key of the user, or the default with its version."""
    if not name:
        return None
    setting = run.env.get(name.removeprefix("env.")) if name.startswith("env.") else run.settings.get(name)
    if setting is None:
        return SettingRef(name, run.key_of(name), None, "default")
    return _reference(name, setting)


def _reference(name: str, setting: Setting) -> SettingRef:
    return SettingRef(
        name, setting.key, setting.value, setting.origin, setting.file, setting.line, setting.version or setting.note
    )


def _fix(rule: Rule, hit: Hit, run: RunConfig) -> Fix | None:
    described = rule.get("fix") or {}
    text = hit.fix or described.get("text", "")
    wanted = hit.edits or described.get("edits", {})
    edits = [_edit(run, name, value) for name, value in wanted.items() if not _is_default(run, name, value)]
    edits += [_edit(run, name, action="remove") for name in described.get("remove", ()) if _is_written(run, name)]
    if not text and not edits:
        return None
    return Fix(fill_text(text, run), edits, described.get("safety", "unsafe"))


def _edit(run: RunConfig, name: str, value: Any = None, action: str = "set") -> Edit:
    if not _is_written(run, name):
        return Edit(run.key_of(name), value, action=action)
    setting = run.settings[name]
    return Edit(setting.key, value, setting.file, setting.line, setting.value, action)


def _is_default(run: RunConfig, name: str, value: Any) -> bool:
    """Whether nobody wrote the field and it has the value already."""
    setting = run.settings.get(name)
    return setting is not None and setting.origin == DEFAULT and setting.known and setting.value == value


def _is_written(run: RunConfig, name: str) -> bool:
    setting = run.settings.get(name)
    return setting is not None and setting.origin == EXPLICIT and bool(setting.file)


_PLACEHOLDER = re.compile(r"\{(env\.)?(\w+)(\.key)?\}")


def fill_text(template: str, run: RunConfig) -> str:
    """Text of a rule with {field} (its value) and {field.key} (its native key) filled in."""

    def replace(match: re.Match[str]) -> str:
        environment, name, key = match.groups()
        if key:
            return run.key_of(name)
        setting = run.env.get(name) if environment else run.settings.get(name)
        return "unset" if setting is None else show(setting.value)

    return _PLACEHOLDER.sub(replace, template)


def show(value: Any) -> str:
    """A value as the user would write it: true, false, null."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def needs_of(unknown: Unknown, run: RunConfig) -> list[str]:
    """Native keys (or NAME for environment variables) that would decide an open rule.

    Where a setting is there but unresolved, the names of what would resolve it are given instead of its key.
    """
    needs: set[str] = set()
    for name in unknown.needs:
        setting = run.settings.get(name)
        if name.startswith("env."):
            needs.add(name.removeprefix("env."))
        elif name.endswith("_version") and name not in section("fields"):
            needs.add(f"--version {name.removesuffix('_version').replace('_', '-')}=...")
        elif setting is not None and isinstance(setting.value, Unresolved) and setting.value.names:
            needs.update(setting.value.names)
        else:
            needs.add(run.key_of(name))
    return sorted(needs)


def rule_fields(rule: Rule) -> set[str]:
    """Canonical fields that a rule reads, for documentation and tests."""
    nodes: Iterable[Any] = (rule[name] for name in ("applies_when", "condition") if name in rule)
    return set().union(*(fields_of(node) for node in nodes), set())
