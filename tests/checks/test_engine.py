"""The rule engine: scope, version ranges, and what it says when it cannot know."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_guard.checks.engine import Rule, Verdict, check_rule, needs_of
from grpo_guard.checks.expr import Unknown, parse
from grpo_guard.checks.outcome import PASS, Hit, NotApplicable
from grpo_guard.configs.run_config import RunConfig, Setting
from grpo_guard.configs.values import Unresolved


def a_run(versions: dict[str, str] | None = None, framework: str = "deepspeed", **fields: Any) -> RunConfig:
    run = RunConfig(framework, versions or {})
    for name, value in fields.items():
        run.settings[name] = Setting(name, f"native.{name}", value, "explicit", "run.json", 7)
    run.keys = {name: f"native.{name}" for name in ("zero_stage", "overlap_comm", "torch_compile")}
    return run


def a_rule(condition: str = "zero_stage in [1, 2] and overlap_comm", **more: Any) -> Rule:
    rule: Rule = {
        "id": "a-rule", "title": "A title", "severity": "error", "anchor": "overlap_comm", "verdict": "confirmed",
        "message": "{overlap_comm.key}={overlap_comm} at stage {zero_stage}.", "condition": parse(condition),
        "fix": {"text": "Set {overlap_comm.key}=false.", "edits": {"overlap_comm": False}, "safety": "safe"},
        "references": [{"kind": "pull", "url": "https://example.org/1"}],
    }  # fmt: skip
    return {**rule, **more}


def answer(rule: Rule, run: RunConfig) -> Verdict:
    return check_rule(rule, run)


class TestThreeAnswers:
    def test_true_is_a_finding_in_the_users_own_words(self) -> None:
        finding = answer(a_rule(), a_run(zero_stage=2, overlap_comm=True)).finding
        assert finding is not None
        assert finding.message == "native.overlap_comm=true at stage 2."
        assert finding.setting is not None
        assert (finding.setting.key, finding.setting.file, finding.setting.line) == (
            "native.overlap_comm",
            "run.json",
            7,
        )
        assert finding.fix is not None
        assert [(edit.key, edit.value) for edit in finding.fix.edits] == [("native.overlap_comm", False)]

    def test_false_passes(self) -> None:
        assert answer(a_rule(), a_run(zero_stage=3, overlap_comm=True)).outcome is PASS

    def test_unknown_names_the_native_key_that_decides(self) -> None:
        run = a_run(zero_stage=2)
        outcome = answer(a_rule(), run).outcome
        assert isinstance(outcome, Unknown)
        assert needs_of(outcome, run) == ["native.overlap_comm"]

    def test_an_unresolved_value_names_what_would_resolve_it(self) -> None:
        run = a_run(zero_stage=2, overlap_comm=Unresolved("${OVERLAP}", ("OVERLAP",)))
        outcome = answer(a_rule(), run).outcome
        assert isinstance(outcome, Unknown)
        assert needs_of(outcome, run) == ["OVERLAP"]

    def test_a_field_that_the_framework_lacks_makes_the_rule_not_applicable(self) -> None:
        run = a_run(zero_stage=2, overlap_comm=True)
        assert isinstance(answer(a_rule("overlap_comm and lora_rank > 0"), run).outcome, NotApplicable)


class TestScope:
    def test_another_framework_is_not_concerned(self) -> None:
        run = a_run(framework="verl", zero_stage=2, overlap_comm=True)
        assert isinstance(answer(a_rule(frameworks=["deepspeed"]), run).outcome, NotApplicable)

    def test_applies_when_false_is_not_a_pass(self) -> None:
        run = a_run(zero_stage=2, overlap_comm=True)
        assert isinstance(answer(a_rule(applies_when=parse("zero_stage == 3")), run).outcome, NotApplicable)


BELOW_0_19_3: dict[str, Any] = {"affected": {"deepspeed": "<0.19.3"}}


class TestVersions:
    @pytest.mark.parametrize(
        ("version", "fires"), [("0.19.2", True), ("0.19.3", False), ("0.19.3rc1", True), ("0.18.9.post1", True)]
    )
    def test_a_known_version_decides(self, version: str, fires: bool) -> None:
        run = a_run({"deepspeed": version}, zero_stage=2, overlap_comm=True)
        assert isinstance(answer(a_rule(**BELOW_0_19_3), run).outcome, Hit) is fires

    @pytest.mark.parametrize(
        ("bounds", "is_asked_for"),
        [
            (">=0.18.1,<=0.18.3", True),
            (">=0.18.1,<0.18.3", True),
            (">=0.18.0,<0.19.0", True),  # the last release with the fault is a 0.18
            (">=0.18.0,<0.19.1", False),
            (">=0.18.0,<0.20.0", False),
            (">=0.17.6,<0.18.3", False),
            ("<0.19.0", False),
            (">=0.18.0", False),
        ],
    )
    def test_a_fault_of_one_minor_release_asks_for_the_version(self, bounds: str, is_asked_for: bool) -> None:
        """Told as possible, nearly everybody would read of a fault that hardly anybody has."""
        verdict = answer(a_rule(affected={"deepspeed": bounds}), a_run(zero_stage=2, overlap_comm=True))
        assert (verdict.finding is None) is is_asked_for
        assert not is_asked_for or verdict.outcome == Unknown(frozenset(["deepspeed_version"]))

    def test_an_unknown_version_is_possible_and_never_an_error(self) -> None:
        finding = answer(a_rule(**BELOW_0_19_3), a_run(zero_stage=2, overlap_comm=True)).finding
        assert finding is not None
        assert (finding.severity, finding.confidence) == ("info", "low")
        assert "Possible if deepspeed <0.19.3" in finding.message

    def test_it_is_a_warning_where_the_newest_release_is_affected(self) -> None:
        rule = a_rule(affected={"deepspeed": ">=0.17.1"})
        finding = answer(rule, a_run(zero_stage=2, overlap_comm=True)).finding
        assert finding is not None
        assert finding.severity == "warning"

    def test_a_fault_of_one_patch_release_asks_for_the_version(self) -> None:
        run = a_run(zero_stage=2, overlap_comm=True)
        outcome = answer(a_rule(affected={"deepspeed": ">=0.17.2,<0.17.3"}), run).outcome
        assert isinstance(outcome, Unknown)
        assert needs_of(outcome, run) == ["--version deepspeed=..."]

    def test_a_development_build_may_lie_before_or_behind_the_fix(self) -> None:
        run = a_run({"deepspeed": "0.19.3.dev0"}, zero_stage=2, overlap_comm=True)
        finding = answer(a_rule(**BELOW_0_19_3), run).finding
        assert finding is not None
        assert (finding.severity, finding.confidence) == ("info", "low")
        assert "deepspeed 0.19.3.dev0 is a development build" in finding.message

    def test_any_of_several_ranges_of_one_package(self) -> None:
        rule = a_rule(affected={"deepspeed": ["<0.15.0", ">=0.17.0,<0.18.0"]})
        versions = ("0.14.5", "0.16.0", "0.17.6", "0.18.0")
        fired = [
            isinstance(answer(rule, a_run({"deepspeed": v}, zero_stage=2, overlap_comm=True)).outcome, Hit)
            for v in versions
        ]
        assert fired == [True, False, True, False]

    def test_all_of_several_packages(self) -> None:
        rule = a_rule(affected={"deepspeed": "<0.18.8", "torch": ">=2.10"})
        fields = {"zero_stage": 2, "overlap_comm": True}
        assert isinstance(answer(rule, a_run({"deepspeed": "0.18.5", "torch": "2.10.0"}, **fields)).outcome, Hit)
        assert isinstance(
            answer(rule, a_run({"deepspeed": "0.18.5", "torch": "2.9.1"}, **fields)).outcome, NotApplicable
        )


class TestLevels:
    def test_what_was_only_reported_is_at_most_a_warning(self) -> None:
        finding = answer(a_rule(verdict="reported"), a_run(zero_stage=2, overlap_comm=True)).finding
        assert finding is not None
        assert finding.severity == "warning"

    def test_a_finding_on_a_key_that_a_partial_run_does_not_set_is_undecided(self) -> None:
        run = a_run(zero_stage=2, overlap_comm=True)
        run.settings["overlap_comm"].origin = "default"
        run.partial = "only a part was given"
        assert isinstance(answer(a_rule(), run).outcome, Unknown)

    def test_user_text_in_a_message_is_data(self) -> None:
        run = a_run(zero_stage=2, overlap_comm="{zero_stage.key}{env.PATH}")
        finding = answer(a_rule("zero_stage == 2"), run).finding
        assert finding is not None
        assert finding.message == "native.overlap_comm={zero_stage.key}{env.PATH} at stage 2."


class TestADefaultOfAnotherRelease:
    """Keys of a release that was not read are those of the nearest one: what rests on them is less sure."""

    @pytest.mark.parametrize(
        ("given", "label", "confidence"),
        [
            ("0.19.8", "deepspeed 0.19.8", "high"),
            ("0.21.0", "deepspeed 0.19.8", "medium"),  # newer than the data
            ("0.21.0", "accelerate 1.15.0", "high"),  # the default of another package
            (None, "deepspeed 0.19.8", "high"),  # no release is claimed
        ],
    )
    def test_confidence(self, given: str | None, label: str, confidence: str) -> None:
        run = a_run({"deepspeed": given} if given else {}, zero_stage=2)
        run.settings["overlap_comm"] = Setting("overlap_comm", "overlap_comm", True, "default", version=label)
        finding = answer(a_rule(), run).finding
        assert finding is not None
        assert finding.confidence == confidence

    def test_what_the_user_wrote_is_as_sure_as_before(self) -> None:
        finding = answer(a_rule(), a_run({"deepspeed": "99.0"}, zero_stage=2, overlap_comm=True)).finding
        assert finding is not None
        assert finding.confidence == "high"
