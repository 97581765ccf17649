"""The pre-commit hooks: their commands exist and pass over files that are no runs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from grpo_guard.cli import main

ROOT = Path(__file__).parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
TYPES = {"shell", "yaml", "json", "toml", "python"}  # tags of the library `identify`, which pre-commit uses


def test_each_hook_says_what_pre_commit_needs():
    assert [hook["id"] for hook in HOOKS] == ["grpo-guard", "grpo-guard-fix"]
    for hook in HOOKS:
        assert hook["language"] == "python"
        assert set(hook["types_or"]) <= TYPES
        assert {"name", "description", "entry", "require_serial"} <= set(hook)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_the_command_takes_any_files_and_fails_on_an_error(hook, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(hook["entry"])
    assert program == "grpo-guard"
    Path("compose.yaml").write_text("services: {web: {image: x}}\n")
    Path("run.sh").write_text("python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo\n")
    assert main([*words, "compose.yaml"]) == 0
    assert main([*words, "compose.yaml", "run.sh"]) == 1
    assert "one-sample-groups" in capsys.readouterr().out
