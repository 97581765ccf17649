"""`# grpo-guard: ignore[rule] reason` in the user's own file."""

from __future__ import annotations

from pathlib import Path

from grpo_guard.validate import validate_targets

YAML = """\
{comment}
actor_rollout_ref:
  rollout:
    name: vllm
    n: 1  {inline}
algorithm:
  adv_estimator: grpo
"""


def findings(
    tmp_path: Path, comment: str = "", inline: str = ""
) -> tuple[list[str], list[dict[str, object]], list[str]]:
    path = tmp_path / "run.yaml"
    path.write_text(YAML.format(comment=comment, inline=inline))
    report = validate_targets([path], versions={"verl": "0.8.0"})
    return [finding.rule for finding in report.findings], report.suppressed, report.notes


def test_without_a_comment_the_rule_fires(tmp_path: Path) -> None:
    fired, suppressed, _ = findings(tmp_path)
    assert "one-sample-groups" in fired
    assert suppressed == []


def test_a_comment_on_the_line_silences_its_rule_and_is_counted(tmp_path: Path) -> None:
    fired, suppressed, _ = findings(
        tmp_path, inline="# grpo-guard: ignore[one-sample-groups] distillation by our own loss"
    )
    assert "one-sample-groups" not in fired
    assert [(row["rule"], row["line"], row["reason"]) for row in suppressed] == [
        ("one-sample-groups", 5, "distillation by our own loss")
    ]


def test_a_comment_for_the_file_silences_it_anywhere(tmp_path: Path) -> None:
    fired, _, _ = findings(tmp_path, comment="# grpo-guard: ignore-file[one-sample-groups] smoke test")
    assert "one-sample-groups" not in fired


def test_a_comment_elsewhere_or_for_another_rule_silences_nothing(tmp_path: Path) -> None:
    assert "one-sample-groups" in findings(tmp_path, comment="# grpo-guard: ignore[one-sample-groups] far away")[0]
    assert "one-sample-groups" in findings(tmp_path, inline="# grpo-guard: ignore[two-kl-terms] not this one")[0]


def test_a_comment_without_a_reason_silences_nothing_and_is_reported(tmp_path: Path) -> None:
    fired, _, notes = findings(tmp_path, inline="# grpo-guard: ignore[one-sample-groups]")
    assert "one-sample-groups" in fired
    assert any("needs a reason" in note for note in notes)


def test_in_a_script_the_comment_above_a_command_covers_all_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(
        "# grpo-guard: ignore[one-sample-groups] smoke test\n"
        "python3 -m verl.trainer.main_ppo \\\n  algorithm.adv_estimator=grpo \\\n"
        "  actor_rollout_ref.rollout.name=vllm \\\n  actor_rollout_ref.rollout.n=1\n"
    )
    report = validate_targets([path], versions={"verl": "0.8.0"})
    assert "one-sample-groups" not in [finding.rule for finding in report.findings]
    assert [row["rule"] for row in report.suppressed] == ["one-sample-groups"]
