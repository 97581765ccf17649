"""No rule is a constant: for every rule, changing what it looks at, or the version, takes its finding away.

Starts from each rule's own firing case (tests/cases/rules/<rule>/fires*), builds the run, and changes one thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from grpo_guard.checks.engine import Rule, check_rule, in_framework, rule_fields
from grpo_guard.checks.outcome import Hit, NotApplicable
from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.assembly import Follower, build_runs
from grpo_guard.configs.reading import Reading, read_path
from grpo_guard.configs.run_config import RunConfig, Setting
from grpo_guard.configs.values import Unresolved
from grpo_guard.store.index import index

from .test_rule_cases import CASES, options_of

RULES = {rule["id"]: rule for rule in index()["rules"]}
BY_CONDITION = sorted(
    name
    for name, rule in RULES.items()
    if any("condition" in form for form in (rule, *rule.get("per_framework", {}).values()))
)
BY_VERSION = sorted(name for name, rule in RULES.items() if rule.get("affected") or rule.get("affected_in"))


def firing_runs(rule_id: str) -> Iterator[RunConfig]:
    """The runs of the rule's firing cases in which the rule does fire."""
    for path in sorted(CASES.glob(f"{rule_id}/fires*")):
        if path.suffix == ".options":
            continue
        options = options_of(path)
        paths = [path, *options.pop("also", [])]
        reading = Reading()
        for each in paths:
            reading.add(read_path(each, path.parent))
        follower = Follower(path.parent, {str(each): each.resolve() for each in paths}, 10)
        framework = options.pop("framework", "")
        chosen = Options(**options, root=path.parent, load=follower.load)
        yield from (run for run in build_runs(reading, chosen, framework) if fires(RULES[rule_id], run))


def fires(rule: Rule, run: RunConfig) -> bool:
    return isinstance(check_rule(rule, run).outcome, Hit)


def constants(node: Any) -> Iterator[Any]:
    """All constants of a compiled condition, those of lists included."""
    if isinstance(node, list):
        if node[:1] == ["const"]:
            yield node[1]
        for child in node[1:]:
            yield from constants(child)


def other_values(value: Any, rule: Rule) -> Iterator[Any]:
    """Values that a field could have instead: the constants of the rule and their neighbours, the opposite, nothing."""
    if isinstance(value, bool):
        yield not value
    for constant in [*constants(rule.get("condition")), *constants(rule.get("applies_when"))]:
        yield constant
        if isinstance(constant, int | float) and not isinstance(constant, bool):
            yield from (constant + 1, constant - 1)
    yield from (None, "something else", 0, 1, 2, 0.5, 10**9)


def with_value(run: RunConfig, field: str, value: Any) -> RunConfig:
    old = run.settings.get(field)
    settings = dict(run.settings)
    settings[field] = Setting(field, old.key if old else field, value, old.origin if old else "explicit")
    changed = RunConfig(run.framework, dict(run.versions), settings, run.native, run.env, run.keys, set(run.absent))
    changed.partial = run.partial
    return changed


@pytest.mark.parametrize("rule_id", BY_CONDITION)
def test_changing_a_value_takes_the_finding_away(rule_id: str) -> None:
    runs = [run for run in firing_runs(rule_id) if "condition" in in_framework(RULES[rule_id], run.framework)]
    assert runs, "no firing case fires"
    for run in runs:
        rule = in_framework(RULES[rule_id], run.framework)
        in_environment = {f"env.{name}" for name in run.env}
        silenced = [
            field
            for field in sorted(rule_fields(rule))
            if any(not fires(rule, with_value(run, field, value)) for value in other_values(run.value(field), rule))
        ]
        assert silenced or in_environment, f"no single field of {sorted(rule_fields(rule))} decides the rule"


@pytest.mark.parametrize("rule_id", BY_CONDITION)
def test_an_unknown_value_never_passes_for_a_decided_one(rule_id: str) -> None:
    """With everything it reads unknown, a rule may only answer "undecided" or "not applicable"."""
    for run in firing_runs(rule_id):
        rule = in_framework(RULES[rule_id], run.framework)
        if "condition" not in rule:
            continue
        blind = run
        for field in rule_fields(rule):
            blind = with_value(blind, field, Unresolved("", (field,)))
        blind.env = {}
        outcome = check_rule(rule, blind).outcome
        assert not isinstance(outcome, Hit) or "explicit" in str(rule.get("condition")), "fires on nothing"


@pytest.mark.parametrize("rule_id", BY_VERSION)
def test_a_version_outside_the_range_takes_the_finding_away(rule_id: str) -> None:
    rule = RULES[rule_id]
    for run in firing_runs(rule_id):
        for package, bounds in in_framework(rule, run.framework).get("affected", {}).items():
            for outside in versions_outside([bounds] if isinstance(bounds, str) else bounds):
                run.versions = {**run.versions, package: outside}
                assert isinstance(check_rule(rule, run).outcome, NotApplicable), f"fires at {package} {outside}"


@pytest.mark.parametrize("rule_id", BY_VERSION)
def test_without_the_version_it_is_possible_and_never_an_error(rule_id: str) -> None:
    rule = RULES[rule_id]
    for run in firing_runs(rule_id):
        bound = in_framework(rule, run.framework).get("affected", {})
        run.versions = {name: version for name, version in run.versions.items() if name not in bound}
        if not bound:
            continue
        finding = check_rule(rule, run).finding
        if finding is not None:
            assert finding.severity != "error"
            assert "Possible if" in finding.message


def versions_outside(ranges: list[str]) -> Iterator[str]:
    """A version below all ranges and one above, where the ranges leave room."""
    clauses = [clause for spec in ranges for clause in spec.split(",") if clause]
    if (ranges and ">" in ranges[0]) or "==" in ranges[0]:
        yield "0.0.1"
    if clauses and clauses[-1].startswith("<"):
        yield "99.0.0"
