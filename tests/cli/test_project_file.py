"""`.grpo-guard.yaml`: where it is found, what it states, and a clear line for each way to get it wrong."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from grpo_guard import project_file
from grpo_guard.cli import main
from grpo_guard.configs.values import InputError
from grpo_guard.model import Report
from grpo_guard.project_file import find_project_file, load_project_file
from grpo_guard.roots import Roots
from grpo_guard.tools.validate_config import ValidateConfig
from grpo_guard.tools.validate_config import run as call_tool
from grpo_guard.validate import validate_targets

SCRIPT = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=1\n"
)
RULE = """\
id: house-group-size
title: Our groups have at least four samples
severity: warning
frameworks: [verl]
condition: group_size < 4
anchor: group_size
message: "{group_size.key} is {group_size}; we use at least 4."
fix: {text: "Set {group_size.key}=4.", edits: {group_size: 4}, safety: unsafe}
references: [{kind: docs, url: "https://wiki.example.org/rl"}]
verdict: confirmed
last_verified: 2026-11-30
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with a script two folders below it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "runs/a").mkdir(parents=True)
    (tmp_path / "runs/a/run.sh").write_text(SCRIPT)
    return tmp_path


def report(project: Path, stated: str, **options: object) -> Report:
    (project / ".grpo-guard.yaml").write_text(stated)
    return validate_targets([Path("runs/a/run.sh")], **options)


def rules(found: Report) -> list[str]:
    return [finding.rule for finding in found.findings]


class TestWhatItStates:
    def test_versions_gpu_and_world_size(self, project: Path) -> None:
        found = report(project, 'versions: {verl: 0.8.0, TRL: "0.10"}\ngpu: H100\nworld_size: 16\n')
        assert found.versions == {"verl": "0.8.0", "trl": "0.10"}
        values = {row.field: row.value for row in found.settings}
        assert (values["gpu"], values["world_size"]) == ("H100", 16)

    def test_a_number_keeps_its_last_digit(self, project: Path) -> None:
        assert report(project, "versions:\n  verl: 0.10\n").versions == {"verl": "0.10"}

    def test_the_caller_wins(self, project: Path) -> None:
        stated = "versions: {verl: 0.8.0}\ngpu: H100\nworld_size: 16\n"
        found = report(project, stated, versions={"verl": "0.9.0"}, gpu="L40S", world_size=8)
        values = {row.field: row.value for row in found.settings}
        assert (found.versions["verl"], values["gpu"], values["world_size"]) == ("0.9.0", "L40S", 8)

    def test_an_ignored_rule_is_counted_with_its_reason(self, project: Path) -> None:
        found = report(project, "ignore: [{rule: one-sample-groups, reason: smoke tests, until: 2999-01-01}]")
        assert "one-sample-groups" not in rules(found)
        (row,) = found.suppressed
        assert (row["rule"], row["file"], row["line"]) == ("one-sample-groups", ".grpo-guard.yaml", 0)
        assert (row["reason"], row["until"]) == ("smoke tests", "2999-01-01")

    def test_an_expired_one_counts_again_and_is_said(self, project: Path) -> None:
        found = report(project, "ignore: [{rule: one-sample-groups, reason: smoke tests, until: 2020-01-01}]")
        assert "one-sample-groups" in rules(found)
        assert ".grpo-guard.yaml: ignoring one-sample-groups ended on 2020-01-01; it counts again" in found.notes

    def test_the_last_day_still_counts(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Today(date):
            @classmethod
            def today(cls) -> date:
                return date(2027, 3, 31)

        monkeypatch.setattr(project_file, "date", Today)
        stated = "ignore: [{rule: one-sample-groups, reason: x, until: 2027-03-%s}]"
        assert "one-sample-groups" not in rules(report(project, stated % "31"))
        assert "one-sample-groups" in rules(report(project, stated % "30"))

    def test_own_rules_find_and_fix_like_ours(self, project: Path) -> None:
        (project / "guard").mkdir()
        (project / "guard/house-group-size.yaml").write_text(RULE)
        found = report(project, "rules: guard\nignore: [{rule: one-sample-groups, reason: x, until: 2999-01-01}]")
        (finding,) = [finding for finding in found.findings if finding.rule == "house-group-size"]
        assert finding.message == "actor_rollout_ref.rollout.n is 1; we use at least 4."
        assert [(edit.key, edit.value, edit.line) for edit in finding.fix.edits] == [
            ("actor_rollout_ref.rollout.n", 4, 1)
        ]

    def test_own_rules_are_read_again_when_they_change(self, project: Path) -> None:
        (project / "guard").mkdir()
        (project / "guard/house-group-size.yaml").write_text(RULE)
        assert "house-group-size" in rules(report(project, "rules: guard"))
        (project / "guard/house-group-size.yaml").write_text(RULE.replace("group_size < 4", "group_size > 16"))
        assert "house-group-size" not in rules(report(project, "rules: guard"))

    def test_exclude_is_for_folders(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("third_party/x/run.sh", "runs/old_run.sh", "runs/new.sh"):
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SCRIPT)
        (project / ".grpo-guard.yaml").write_text('exclude: [third_party/, "*/old_*.sh", ./runs/a]\n')
        assert main(["validate", ".", "--format", "json"]) == 1
        data = json.loads(capsys.readouterr().out)
        assert [row["sources"][0]["path"] for row in data["reports"]] == ["runs/new.sh"]
        assert data["summary"]["skipped"] == {"excluded": 3, "no launch or config": 1}  # pyproject.toml is empty


class TestWhereItIsFound:
    def test_the_nearest_one_counts(self, project: Path) -> None:
        (project / ".grpo-guard.yaml").write_text("gpu: H100")
        (project / "runs/.grpo-guard.yaml").write_text("gpu: L40S")
        assert find_project_file(Path("runs/a/run.sh"), project) == project / "runs/.grpo-guard.yaml"

    def test_not_above_the_project_folder(self, project: Path) -> None:
        (project / ".grpo-guard.yaml").write_text("gpu: H100")
        (project / "runs/.git").mkdir()
        assert [row for row in validate_targets([Path("runs/a/run.sh")]).settings if row.field == "gpu"] == []

    def test_a_link_out_of_the_project_is_refused(
        self, project: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret.yaml"
        elsewhere.write_text("gpu: H100")
        (project / ".grpo-guard.yaml").symlink_to(elsewhere)
        with pytest.raises(InputError, match="leads out of the project folder"):
            validate_targets([Path("runs/a/run.sh")])

    def test_over_mcp_it_is_read_inside_the_roots_only(self, project: Path) -> None:
        (project / ".grpo-guard.yaml").write_text("versions: {verl: 0.8.0}")
        asked = ValidateConfig(path=["runs/a/run.sh"])
        assert call_tool(asked, Roots.choose([str(project)])).data["versions"] == {"verl": "0.8.0"}
        inner = call_tool(ValidateConfig(path=["run.sh"]), Roots.choose([str(project / "runs/a")])).data
        assert inner["versions"] == {}

    def test_pasted_text_has_none(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (project / ".grpo-guard.yaml").write_text("versions: {verl: 0.8.0}")
        main(["validate", "--config", SCRIPT, "--format", "json"])
        assert json.loads(capsys.readouterr().out)["versions"] == {}


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ("- a", "the file is no mapping; its keys are versions, gpu"),
        ("gpus: H100", "the file has no key gpus (did you mean gpu?)"),
        ("a: [", "line 2: broken YAML"),
        ("gpu: H100\ngpu: L40S", "is set twice"),
        ("gpu: [H100]", "gpu is ['H100']; it is a text"),
        ("world_size: 0", "world_size is 0; it is a number of GPUs"),
        ("world_size: true", "world_size is True; it is a number of GPUs"),
        ("versions: 3", "line 1: versions holds package: version"),
        ("versions: {verl: newest}", "line 1: versions holds package: version"),
        ("versions: {verl: [0.8.0]}", "line 1: versions holds package: version"),
        ("ignore: one-sample-groups", "ignore is a list of rule, reason, until"),
        ("ignore: [one-sample-groups]", "ignore entry 1 is no mapping; its keys are rule, reason, until"),
        ("ignore: [{rule: one-sample-groups, reason: x}]", "ignore entry 1 needs rule, reason and until"),
        ("ignore: [{rule: one-sample-groups, reason: '', until: 2027-01-01}]", "needs rule, reason and until"),
        ("ignore: [{rule: one-sample-groups, reason: x, until: soon}]", "until is soon, no date like 2027-03-31"),
        ("ignore: [{rule: one-sample-group, reason: x, until: 2027-01-01}]", "did you mean one-sample-groups?"),
        ("ignore: [{rule: x, reasons: x}]", "ignore entry 1 has no key reasons (did you mean reason?)"),
        ("exclude: third_party", "exclude is a list of texts"),
        ("exclude: ['/']", "exclude is a list of texts"),
        ("rules: missing", "rules: missing is no folder inside the project"),
        ("rules: ../..", "rules: ../.. is no folder inside the project"),
        ("rules: /etc", "rules: /etc is no folder inside the project"),
    ],
)
def test_a_fault_is_one_line_with_file_and_key(
    project: Path, stated: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".grpo-guard.yaml").write_text(stated)
    assert main(["validate", "runs/a/run.sh"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("grpo-guard: .grpo-guard.yaml")
    assert says in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("group_size < 4", "group_siz < 4"), "no field group_siz (did you mean group_size?)"),
        (("group_size < 4", "open('x')"), "condition: Value error, no function open"),
        (("group_size < 4", "().__class__"), "is not part of the condition language"),
        (("group_size < 4", "not " * 80 + "true"), "condition: nested deeper than 60 levels"),
        (("group_size < 4", "not " * 450 + "true"), "condition"),
        (("group_size < 4", "not " * 600 + "true"), "condition is longer than 2000 characters"),
        (("condition: group_size < 4", "code: verl_batch.whole_groups"), "own rules have a condition"),
        (("anchor: group_size", "anchor: groups"), "no field groups"),
        (("edits: {group_size: 4}", "edits: {groups: 4}"), "no field groups"),
        (("severity: warning", "severity: fatal"), "severity: Input should be"),
        (("severity: warning", "severty: warning"), "severity: Field required"),
        (("house-group-size", "one-sample-groups"), "there is a rule one-sample-groups already"),
        (("frameworks: [verl]", "affected: {verl: new}"), "affected.verl: not a version"),
        ((RULE, "- a"), "no mapping; a rule has id"),
    ],
)
def test_a_faulty_own_rule_is_named(project: Path, change: tuple[str, str], says: str) -> None:
    (project / "guard").mkdir()
    (project / "guard/house.yaml").write_text(RULE.replace(*change))
    with pytest.raises(InputError) as caught:
        report(project, "rules: guard")
    assert "guard/house.yaml" in str(caught.value)
    assert says in str(caught.value)


def test_an_own_rule_that_leads_out_of_the_project_is_refused(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "house.yaml"
    elsewhere.write_text(RULE)
    (project / "guard").mkdir()
    (project / "guard/house.yaml").symlink_to(elsewhere)
    with pytest.raises(InputError, match="leads out of the project folder"):
        report(project, "rules: guard")


def test_a_fault_ends_a_run_over_a_folder_before_it_prints(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".grpo-guard.yaml").write_text("gpus: H100")
    assert main(["validate", "runs", "--format", "json"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert "the file has no key gpus" in shown.err


def test_an_empty_file_states_nothing(project: Path) -> None:
    (project / ".grpo-guard.yaml").write_text("# later\n")
    stated = load_project_file(project / ".grpo-guard.yaml", project)
    assert (stated.versions, stated.gpu, stated.world_size, stated.ignore, stated.rules) == ({}, "", None, (), ())
