"""Fixes of a run as a patch: what is edited, what is left and why; every edit is proved by validating again."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_guard.edits.run import Fixed, fix_run
from grpo_guard.render.patch import diff_text, edit_lines

LAUNCH = """\
#!/bin/bash
# n=1 is for smoke tests
N=1
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.actor.use_dynamic_bsz=True \\
    actor_rollout_ref.rollout.n=$N \\
    trainer.nnodes=1  # one node
"""


def fixed(folder: Path, files: dict[str, str], unsafe: bool = True, name: str = "", **options: object) -> Fixed:
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8", newline="")
    return fix_run([folder / (name or next(iter(files)))], options, unsafe=unsafe)


def made(result: Fixed) -> list[tuple[str, str, object]]:
    return [(row.rule, row.key.rpartition(".")[2], row.value) for row in result.patch.edits]


def left(result: Fixed) -> dict[str, str]:
    return {row.rule: row.reason for row in result.patch.skipped}


def test_the_variable_that_holds_the_value_is_edited_and_nothing_else(tmp_path: Path) -> None:
    result = fixed(tmp_path, {"run.sh": LAUNCH})
    assert made(result) == [("one-sample-groups", "n", 8)]
    assert list(result.patch.texts.values()) == [LAUNCH.replace("N=1\n", "N=8\n")]
    assert "one-sample-groups" not in [finding.rule for finding in result.patch.report.findings]
    assert (tmp_path / "run.sh").read_text() == LAUNCH  # written only when asked


def test_what_changes_training_is_left_to_a_person(tmp_path: Path) -> None:
    result = fixed(tmp_path, {"run.sh": LAUNCH}, unsafe=False)
    assert made(result) == []
    assert left(result) == {"one-sample-groups": "it changes training or cost; --unsafe applies it"}


def test_an_edit_that_would_change_another_setting_is_dropped(tmp_path: Path) -> None:
    text = LAUNCH.replace("trainer.nnodes=1", "trainer.nnodes=$N")
    result = fixed(tmp_path, {"run.sh": text})
    assert made(result) == []
    assert left(result) == {"one-sample-groups": "the value comes from the variable N, which is used 2 times"}


def test_an_edit_that_brings_up_a_new_finding_is_dropped(tmp_path: Path) -> None:
    text = LAUNCH.replace("N=1\n", "N=8\n") + "\n"
    text = text.replace(
        "trainer.nnodes=1  # one node",
        "trainer.nnodes=1 trainer.n_gpus_per_node=7 data.train_batch_size=96 "
        "actor_rollout_ref.actor.ppo_mini_batch_size=48",
    )
    result = fixed(tmp_path, {"run.sh": text}, versions={"verl": "0.8.0"})
    assert "mini-batch-not-divisible-by-ranks" not in [rule for rule, _, _ in made(result)]
    reason = left(result)["mini-batch-not-divisible-by-ranks"]
    assert reason == "the edit brings up train-batch-not-multiple-of-mini-batch"


def test_edits_that_follow_find_their_lines_after_one_that_moved_them(tmp_path: Path) -> None:
    text = LAUNCH.replace("rollout.n=$N", "rollout.mode=sync \\\n    actor_rollout_ref.rollout.n=1")
    result = fixed(tmp_path, {"run.sh": text}, versions={"verl": "0.8.0"})
    assert [(row.rule, row.action, row.line) for row in result.patch.edits] == [
        ("sync-rollout-mode-removed", "remove", 8),
        ("one-sample-groups", "set", 8),
    ]
    (new,) = result.patch.texts.values()
    assert new == LAUNCH.replace("rollout.n=$N", "rollout.n=8")


def test_no_edit_undoes_an_earlier_one(tmp_path: Path) -> None:
    example = (Path(__file__).parents[2] / "examples/verl_lora.sh").read_text()
    result = fixed(tmp_path, {"run.sh": example}, versions={"verl": "0.8.0"}, world_size=5)
    keys = [row.key for row in result.patch.edits]
    assert keys.count("actor_rollout_ref.actor.ppo_mini_batch_size") == 1
    assert len(set(keys)) == len(keys)
    assert left(result)["train-batch-not-multiple-of-mini-batch"].startswith("an earlier edit has set ")


def test_a_setting_that_is_not_written_yet_is_added(tmp_path: Path) -> None:
    text = (
        '{\n  "zero_optimization": {\n    "stage": 2,\n    "overlap_comm": true\n  },\n  "bf16": {"enabled": true}\n}'
    )
    result = fixed(tmp_path, {"ds.json": text}, versions={"deepspeed": "0.18.5"})
    assert made(result) == [
        ("overlap-comm-frees-buffers", "overlap_comm", False),
        ("bf16-gradients-unchecked", "check_grad_overflow", True),
    ]
    (new,) = result.patch.texts.values()
    assert new == text.replace("true\n  }", "false\n  }").replace("true}", 'true, "check_grad_overflow": true}')


def test_a_renamed_key_gets_its_new_name(tmp_path: Path) -> None:
    text = LAUNCH.replace("trainer.nnodes=1", "critic.model.fsdp_config.param_offload=True trainer.nnodes=1")
    result = fixed(tmp_path, {"run.sh": text}, unsafe=False, versions={"verl": "0.8.0"})
    assert [(row.key, row.new_key) for row in result.patch.edits] == [
        ("critic.model.fsdp_config.param_offload", "critic.fsdp.param_offload")
    ]
    (new,) = result.patch.texts.values()
    assert new == text.replace("critic.model.fsdp_config.", "critic.fsdp.")


def test_each_launch_of_a_script_is_mended_where_it_stands(tmp_path: Path) -> None:
    text = LAUNCH.replace("rollout.n=$N", "rollout.n=1").replace(
        "trainer.nnodes=1", "critic.model.fsdp_config.param_offload=True trainer.nnodes=1"
    )
    result = fixed(tmp_path, {"run.sh": text + text}, versions={"verl": "0.8.0"})
    (new,) = result.patch.texts.values()
    assert new == (text + text).replace("rollout.n=1", "rollout.n=8").replace(
        "critic.model.fsdp_config.", "critic.fsdp."
    )
    assert len(result.patch.edits) == 4


def test_the_edits_of_one_fix_do_not_move_each_other(tmp_path: Path) -> None:
    text = LAUNCH.replace("rollout.n=$N", "rollout.n=8").replace(
        "trainer.nnodes=1",
        "actor_rollout_ref.rollout.top_p=0.9 algorithm.rollout_correction.rollout_is=token trainer.nnodes=1",
    )
    text = text.replace("trainer.nnodes=1", "actor_rollout_ref.rollout.calculate_log_probs=True trainer.nnodes=1")
    result = fixed(tmp_path, {"run.sh": text}, versions={"verl": "0.8.0"})
    assert made(result) == [("truncated-sampling-with-rollout-correction", "top_p", 1.0)]
    (new,) = result.patch.texts.values()
    assert new == text.replace("top_p=0.9", "top_p=1.0")


def test_a_key_that_only_looks_like_another_is_left(tmp_path: Path) -> None:
    text = LAUNCH.replace("trainer.nnodes", "trainer.nnodess")
    result = fixed(tmp_path, {"run.sh": text}, unsafe=False, versions={"verl": "0.8.0"})
    assert [finding.rule for finding in result.report.findings if finding.rule == "unknown-key"] == ["unknown-key"]
    assert result.patch.texts == {}


def test_a_file_that_was_not_named_is_not_edited(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    files = {
        "run.sh": "deepspeed train_grpo.py --deepspeed ds.json --bf16 True --output_dir out\n",
        "ds.json": '{"zero_optimization": {"stage": 2, "overlap_comm": true}, "bf16": {"enabled": true}}',
    }
    result = fixed(tmp_path, files, versions={"deepspeed": "0.18.5"})
    reason = left(result)["overlap-comm-frees-buffers"]
    assert reason.endswith("ds.json, which was not named; name it to have it edited")
    both = fix_run([tmp_path / "run.sh", tmp_path / "ds.json"], {"versions": {"deepspeed": "0.18.5"}}, unsafe=True)
    assert any(row.rule == "overlap-comm-frees-buffers" for row in both.patch.edits)
    assert list(both.patch.texts) == [str(tmp_path / "ds.json")]


def test_a_value_stated_on_the_command_line_is_not_edited(tmp_path: Path) -> None:
    result = fixed(tmp_path, {"run.sh": LAUNCH.replace("rollout.n=$N", "rollout.n=8")}, settings={"group_size": 1})
    assert left(result) == {"one-sample-groups": "the value was stated on the command line"}


def test_silenced_findings_are_not_fixed(tmp_path: Path) -> None:
    text = LAUNCH.replace("N=1\n", "# grpo-guard: ignore-file[one-sample-groups] smoke\nN=1\n")
    assert fixed(tmp_path, {"run.sh": text}).patch.texts == {}


def test_windows_line_ends_and_the_missing_last_one_stay(tmp_path: Path) -> None:
    text = LAUNCH.replace("\n", "\r\n").removesuffix("\r\n")
    (new,) = fixed(tmp_path, {"run.sh": text}).patch.texts.values()
    assert new == text.replace("N=1\r\n", "N=8\r\n")


def test_the_diff_and_the_lines_that_explain_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.sh").write_text(LAUNCH)
    result = fix_run([Path("run.sh")], {}, unsafe=True)
    assert diff_text(result.old_texts, result.patch.texts) == (
        "--- a/run.sh\n+++ b/run.sh\n@@ -1,6 +1,6 @@\n #!/bin/bash\n # n=1 is for smoke tests\n-N=1\n+N=8\n"
        " python3 -m verl.trainer.main_ppo \\\n     algorithm.adv_estimator=grpo \\\n"
        "     actor_rollout_ref.rollout.name=vllm \\\n"
    )
    assert edit_lines(result.patch, "edited") == [
        "edited run.sh:8 actor_rollout_ref.rollout.n: 1 -> 8  [one-sample-groups]"
    ]


def test_a_diff_says_that_the_last_line_has_no_end() -> None:
    assert diff_text({"a": "x\ny"}, {"a": "x\nz"}).endswith(
        "-y\n\\ No newline at end of file\n+z\n\\ No newline at end of file\n"
    )
