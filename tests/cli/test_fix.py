"""validate --diff and --fix on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from grpo_guard.cli import main

SCRIPT = """\
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=1 \\
    actor_rollout_ref.rollout.mode=sync
"""
WITHOUT_MODE = SCRIPT.replace(" \\\n    actor_rollout_ref.rollout.mode=sync", "")
VERSION = ("--version", "verl=0.8.0")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("run.sh")
    path.write_text(SCRIPT)
    return path


def test_diff_prints_a_patch_and_writes_nothing(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "run.sh", "--diff", *VERSION]) == 1
    shown = capsys.readouterr()
    assert shown.out == (
        "--- a/run.sh\n+++ b/run.sh\n@@ -1,3 +1,2 @@\n"
        " python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm \\\n"
        "-    actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=1 \\\n"
        "-    actor_rollout_ref.rollout.mode=sync\n"
        "+    actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=1\n"
    )
    assert shown.err == (
        "would edit run.sh:3 actor_rollout_ref.rollout.mode removed  [sync-rollout-mode-removed]\n"
        "not edited run.sh:2 actor_rollout_ref.rollout.n: 1 -> 8  [one-sample-groups]: "
        "it changes training or cost; --unsafe applies it\n"
    )
    assert script.read_text() == SCRIPT


def test_fix_edits_what_is_safe_and_reports_what_is_left(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "run.sh", "--fix", *VERSION]) == 1
    shown = capsys.readouterr()
    assert script.read_text() == WITHOUT_MODE
    assert "[one-sample-groups]" in shown.out
    assert "sync-rollout-mode-removed" not in shown.out
    assert main(["validate", "run.sh", "--fix", "--unsafe", *VERSION]) == 0
    assert script.read_text() == WITHOUT_MODE.replace("rollout.n=1", "rollout.n=8")
    capsys.readouterr()
    assert main(["validate", "run.sh", "--fix", "--unsafe", *VERSION]) == 0
    assert capsys.readouterr().err == ""  # nothing is left to edit


def test_json_has_the_report_and_the_patch(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "run.sh", "--diff", "--unsafe", "--format", "json", *VERSION]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["framework"] == "verl"
    assert data["patch"]["written"] is False
    assert data["patch"]["diff"].startswith("--- a/run.sh\n+++ b/run.sh\n")
    assert [(row["rule"], row["key"], row["action"]) for row in data["patch"]["edits"]] == [
        ("one-sample-groups", "actor_rollout_ref.rollout.n", "set"),
        ("sync-rollout-mode-removed", "actor_rollout_ref.rollout.mode", "remove"),
    ]
    assert data["patch"]["skipped"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--config", SCRIPT, "--fix"], "save the text to a file and name it"),
        (["run.sh", "--unsafe"], "--unsafe goes with --diff or --fix"),
        (["run.sh", "--diff", "--format", "sarif"], "--diff prints text or json"),
        (["missing.sh", "--fix"], "no such file"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(
    script: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert script.read_text() == SCRIPT


def test_a_file_without_a_fix_gives_an_empty_diff(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(WITHOUT_MODE.replace("rollout.n=1", "rollout.n=8"))
    assert main(["validate", "run.sh", "--diff", *VERSION]) == 0
    assert capsys.readouterr() == ("", "")


def test_many_files_are_fixed_each_on_its_own(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sub").mkdir()
    Path("sub/b.sh").write_text(SCRIPT)
    assert main(["validate", ".", "--diff", *VERSION]) == 1
    shown = capsys.readouterr()
    assert [line for line in shown.out.splitlines() if line.startswith("+++")] == ["+++ b/run.sh", "+++ b/sub/b.sh"]
    assert main(["validate", ".", "--fix", "--unsafe", *VERSION]) == 0
    assert script.read_text() == Path("sub/b.sh").read_text() == WITHOUT_MODE.replace("rollout.n=1", "rollout.n=8")


def test_a_file_that_cannot_be_written_is_said_and_the_others_are_edited(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("b.sh").write_text(SCRIPT)
    replace = os.replace

    def fails_for_run(source: str, target: Path) -> None:
        if target.name == "run.sh":
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails_for_run)
    assert main(["validate", ".", "--fix", *VERSION]) == 1
    assert "not edited " in capsys.readouterr().err
    assert (script.read_text(), Path("b.sh").read_text()) == (SCRIPT, WITHOUT_MODE)
    assert sorted(path.name for path in Path(".").iterdir()) == ["b.sh", "run.sh"]
