"""The command line as a user meets it: exit codes, one clear line for bad input, JSON equal to the tool's answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HAZARD = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=1\n"
)
SOUND = HAZARD.replace("rollout.n=1", "rollout.n=8")


def run(*arguments: str, stdin: str | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grpo_guard", *arguments]
    given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=60, env=environment, **given)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "run.sh"
    path.write_text(HAZARD)
    return path


class TestExitCodes:
    def test_0_without_errors(self, tmp_path: Path) -> None:
        path = tmp_path / "run.sh"
        path.write_text(SOUND)
        assert run("validate", str(path)).returncode == 0

    def test_1_with_an_error(self, script: Path) -> None:
        assert run("validate", str(script)).returncode == 1

    def test_fail_on_moves_the_bar(self, script: Path, tmp_path: Path) -> None:
        assert run("validate", str(script), "--fail-on", "never").returncode == 0
        twice = tmp_path / "twice.sh"
        twice.write_text(SOUND.replace("rollout.n=8", "rollout.n=4 actor_rollout_ref.rollout.n=8"))
        assert run("validate", str(twice)).returncode == 0
        assert run("validate", str(twice), "--fail-on", "warning").returncode == 1

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["validate", "no-such-file.sh"], "no-such-file.sh"),
            (["validate"], "name a file"),
            (["validate", "x.sh", "--config", "a=1"], "not both"),
            (["validate", "--config", ""], "empty"),
            (["validate", "--config", "a.b=1", "--version", "verl"], "PKG=VER"),
            (["validate", "--config", "a.b=1", "--version", "verl=newest"], "not a version"),
            (["validate", "--config", "a.b=1", "--world-size", "0"], "world size"),
            (["validate", "--config", "a.b=1", "--set", "groupsize=8"], "group_size"),
            (["rules", "one-sample-group"], "one-sample-groups"),
        ],
    )
    def test_2_and_one_line_for_what_cannot_be_read(self, arguments: list[str], says: str) -> None:
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("grpo-guard: ")
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_2_for_a_wrong_option(self) -> None:
        done = run("validate", "--fail", "error", "x.sh")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


class TestOutput:
    def test_text_cites_file_line_key_and_fix(self, script: Path) -> None:
        text = run("validate", str(script)).stdout
        assert f"{script}:1  actor_rollout_ref.rollout.n=1" in text
        assert "fix: Set actor_rollout_ref.rollout.n=8" in text
        assert "[one-sample-groups]" in text
        assert "\x1b" not in text  # no colour into a pipe

    def test_json_has_the_fields_of_the_contract(self, script: Path) -> None:
        data = json.loads(run("validate", str(script), "--format", "json").stdout)
        assert data["framework"] == "verl"
        assert set(data["summary"]) == {"error", "warning", "info", "pass", "not_applicable", "unknown"}
        finding = next(row for row in data["findings"] if row["rule"] == "one-sample-groups")
        assert finding["setting"] == {
            "field": "group_size", "key": "actor_rollout_ref.rollout.n", "value": 1, "origin": "explicit",
            "file": str(script), "line": 1, "version": "",
        }  # fmt: skip
        assert finding["fix"]["edits"] == [
            {
                "key": "actor_rollout_ref.rollout.n", "value": 8, "file": str(script), "line": 1, "old": 1,
                "action": "set", "new_key": "",
            }
        ]  # fmt: skip
        assert finding["seed"] == ["D07", "N07"]

    def test_standard_input_and_config_text_answer_alike(self) -> None:
        first = json.loads(run("validate", "-", "--format", "json", stdin=HAZARD).stdout)
        second = json.loads(run("validate", "--config", HAZARD, "--format", "json").stdout)
        assert first == second

    def test_full_detail_shows_every_setting_with_its_origin(self, script: Path) -> None:
        text = run("validate", str(script), "--version", "verl=0.8.0", "--detail", "full").stdout
        assert "Effective settings" in text
        assert "actor_rollout_ref.rollout.temperature  (default of verl 0.8.0)" in text

    def test_escape_sequences_of_the_input_do_not_reach_the_terminal(self, tmp_path: Path) -> None:
        path = tmp_path / "run.sh"
        path.write_text(
            HAZARD.replace("grpo ", "$'grpo\\x1b[31m' ").replace("rollout.n=1", "rollout.n=$'1\\x1b]0;x\\x07'")
        )
        assert "\x1b" not in run("validate", str(path), "--detail", "full").stdout

    def test_a_reader_that_closes_early_is_no_error(self, script: Path) -> None:
        command = f"{sys.executable} -m grpo_guard validate {script} --detail full | head -1"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
        assert "Traceback" not in done.stderr
        assert "BrokenPipe" not in done.stderr

    def test_same_input_same_bytes(self, script: Path) -> None:
        outputs = {run("validate", str(script), "--format", "json").stdout for _ in range(2)}
        assert len(outputs) == 1


class TestVersions:
    def test_requirements_give_versions_and_the_option_wins(self, script: Path, tmp_path: Path) -> None:
        pins = tmp_path / "requirements.txt"
        pins.write_text("verl==0.6.1\nvllm==0.11.0\n")
        data = json.loads(run("validate", str(script), "--requirements", str(pins), "--format", "json").stdout)
        assert data["versions"] == {"verl": "0.6.1", "vllm": "0.11.0"}
        options = ["--requirements", str(pins), "--version", "verl=0.8.0", "--format", "json"]
        assert json.loads(run("validate", str(script), *options).stdout)["versions"]["verl"] == "0.8.0"


class TestOtherVerbs:
    def test_help_names_the_verbs(self) -> None:
        text = run("--help").stdout
        assert all(verb in text for verb in ("validate", "rules", "serve"))

    def test_rules_lists_all_and_shows_one_with_its_sources(self) -> None:
        assert "one-sample-groups" in run("rules").stdout
        text = run("rules", "one-sample-groups").stdout
        assert "https://github.com/verl-project/verl/" in text
        assert "group_size == 1" in text
        assert json.loads(run("rules", "one-sample-groups", "--format", "json").stdout)["id"] == "one-sample-groups"

    def test_a_seed_rule_is_answered(self) -> None:
        text = run("rules", "N16").stdout
        assert "conditional" in text

    def test_without_a_verb_and_without_a_terminal_it_serves(self) -> None:
        done = run(stdin="")
        assert done.returncode == 0
        assert done.stdout == ""
