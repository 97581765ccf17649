"""The skills: valid by the Agent Skills specification, small, and true in what they name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from grpo_guard.app import TOOLS
from grpo_guard.cli import main

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "skills"
KNOWLEDGE = ROOT / "knowledge"
ROWS = {row["name"]: row for row in yaml.safe_load((KNOWLEDGE / "skills.yaml").read_text(encoding="utf-8"))}
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/SKILL.md"))
ALLOWED = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
TOOL_NAMES = {tool.name for tool in TOOLS}
DS_CONFIG = '{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}'
FILES = {
    "run.sh": "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8\n",
    "ds_config.json": DS_CONFIG,
    "accelerate.yaml": "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\nnum_processes: 8\n",
    "requirements.txt": "verl==0.9.0\n",
    "train.log": "step:11 - actor/pg_loss:0.1 - actor/grad_norm:0.4\nstep:12 - actor/pg_loss:nan\n",
}

# Words with underscores that are fields of an answer, settings or metrics
NO_ENTRIES = {
    "unknown_keys", "not_applicable", "ask_next", "not_a_fault", "record_stream", "world_size", "zero_stage",
    "group_size", "lora_rank", "fsdp_mode", "grad_norm", "frac_reward_zero_std", "actor_grad_norm",
    "response_clip_ratio", "vllm_kl",
}  # fmt: skip


def parts(name: str) -> tuple[dict[str, Any], str]:
    """Front matter and body."""
    match = re.match(r"---\n(.*?)\n---\n(.*)", (FOLDER / name / "SKILL.md").read_text(encoding="utf-8"), re.DOTALL)
    assert match
    return yaml.safe_load(match[1]), match[2]


def commands(name: str) -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", parts(name)[1], re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("grpo-guard ")]


def test_each_skill_has_a_row_of_triggers():
    assert set(ROWS) == set(NAMES) == {"grpo-debug", "cross-framework-avoidance"}


@pytest.mark.parametrize("name", NAMES)
def test_the_front_matter_follows_the_specification(name):
    head, _ = parts(name)
    assert head["name"] == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and len(name) <= 64
    assert 1 <= len(head["description"]) <= 1024
    assert 1 <= len(head["compatibility"]) <= 500
    assert set(head) <= ALLOWED
    assert all(isinstance(value, str) for value in head["metadata"].values())


@pytest.mark.parametrize("name", NAMES)
def test_the_triggers_of_the_seeds_stand_in_the_metadata(name):
    assert parts(name)[0]["metadata"]["triggers"].split("; ") == ROWS[name]["triggers"]


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_stays_small(name):
    text = (FOLDER / name / "SKILL.md").read_text(encoding="utf-8")
    assert len(text) / 4 < 5_000 and len(text.splitlines()) < 500


@pytest.mark.parametrize("name", NAMES)
def test_the_tools_that_a_skill_calls_exist(name):
    called = set(re.findall(r"\b([a-z]\w*)\(", parts(name)[1]))
    assert called and called <= TOOL_NAMES
    assert set(ROWS[name]["tools"]) <= TOOL_NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_that_a_skill_passes_exist(name):
    fields = {tool.name: set(tool.arguments.model_fields) for tool in TOOLS}
    passed = [
        (tool, argument)
        for tool, arguments in re.findall(r"\b(\w+)\(([^()]*)\)", parts(name)[1])
        if tool in fields
        for argument in re.findall(r"\b(\w+)=", arguments)
    ]
    assert passed
    assert [(tool, argument) for tool, argument in passed if argument not in fields[tool]] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_entries_that_a_skill_names_exist(name):
    known = {path.stem for folder in ("rules", "symptoms", "bugs/*") for path in KNOWLEDGE.glob(f"{folder}/*.yaml")}
    known |= {entry["id"] for entry in yaml.safe_load((KNOWLEDGE / "patterns.yaml").read_text(encoding="utf-8"))}
    body = parts(name)[1]
    named = set(re.findall(r"`((?:verl|trl|rllm|deepspeed|megatron|vllm|vllm-ascend|sglang)-[a-z0-9-]+)`", body))
    named |= set(re.findall(r"`([a-z]+(?:_[a-z]+){1,4})`", body)) - TOOL_NAMES - NO_ENTRIES
    assert named - known == set()


@pytest.mark.parametrize("command", [command for name in NAMES for command in commands(name)])
def test_every_command_of_a_skill_runs(command, tmp_path, monkeypatch, capsys):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) in (0, 1)  # 1: validate found something
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", [line for row in ROWS.values() for line in row["cli"]])
def test_every_command_of_the_skill_list_runs(command, tmp_path, monkeypatch, capsys):
    (tmp_path / "run.sh").write_text(FILES["run.sh"])
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) in (0, 1)
    assert capsys.readouterr().out
