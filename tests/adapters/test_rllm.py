"""rLLM: keys that exist twice are mirrored as at start-up, and verl below is the release that rLLM pins."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.adapters.rllm import batch, build, claims
from grpo_guard.configs.parts import Part, parts_of_command
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Command, Entry, Unresolved, Word

VERL = """python -u train.py rllm/backend=verl actor_rollout_ref.model.path=Qwen/Qwen3-4B trainer.nnodes=1
  trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.use_dynamic_bsz=true"""
LEGACY = """python -m rllm.trainer.verl.train_agent_ppo algorithm.adv_estimator=grpo data.train_batch_size=64
  actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=4 rllm.mask_truncated_samples=true"""


def parts(command: str) -> list[Part]:
    words = [Word(text, 1, "train.sh") for text in shlex.split(command)]
    return parts_of_command(Command(words, {}, "train.sh", 1))


def run_of(command: str, **versions: str) -> RunConfig:
    return build(parts(command), Options(versions=versions))


def known(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name, "unknown") for name in names}


def test_the_unified_trainer_brings_its_own_defaults() -> None:
    run = run_of(VERL)
    expected = {
        "adv_estimator": "grpo",
        "use_critic": False,
        "group_size": 8,
        "train_batch_prompts": 64,
        "max_prompt_length": 2048,
        "max_response_length": 30720,
        "temperature": 1.0,
        "bypass_mode": False,
        "use_kl_loss": False,
        "ref_policy": False,
        "clip_ratio": 0.2,
        "clip_ratio_high": 0.2,
        "rollout_mode": "async",
        "calculate_log_probs": True,
        "weight_sync_backend": "naive",
        "async_training": False,
        "world_size": 8,
        "rllm_backend": "verl",
        "rllm_trainer": "unified",
    }
    assert known(run, *expected) == expected
    group = run.settings["group_size"]
    assert (group.key, group.origin, group.version) == (
        "rllm.rollout.n",
        "default",
        "rLLM 0.3.0.pre0.post20260815, unified trainer",
    )
    assert run.notes == ["no rllm version given: 0.3.0.pre0.post20260815 with verl 0.8.0 is assumed"]
    assert run.settings["lora_rank"].version == "verl 0.8.0"  # what rLLM leaves alone
    assert run.unknown_keys == [] and run.lints == []
    assert "verl" not in run.versions


@pytest.mark.parametrize(
    ("override", "field", "value", "key"),
    [
        ("rllm.rollout.n=4", "group_size", 4, "rllm.rollout.n"),
        ("actor_rollout_ref.rollout.n=4", "group_size", 4, "actor_rollout_ref.rollout.n"),
        ("data.train_batch_size=16", "train_batch_prompts", 16, "data.train_batch_size"),
        ("rllm.algorithm.adv_estimator=rloo", "adv_estimator", "rloo", "rllm.algorithm.adv_estimator"),
        ("rllm.algorithm.eps_clip=0.1", "clip_ratio", 0.1, "rllm.algorithm.eps_clip"),
        ("rllm.rollout.train.temperature=0.7", "temperature", 0.7, "rllm.rollout.train.temperature"),
    ],
)  # fmt: skip
def test_either_name_sets_the_knob(override: str, field: str, value: object, key: str) -> None:
    setting = run_of(f"{VERL} {override}").settings[field]
    assert (setting.value, setting.key, setting.origin, setting.line) == (value, key, "explicit", 1)


def test_the_key_of_rllm_wins_and_the_loser_is_reported() -> None:
    run = run_of(f"{VERL} rllm.rollout.n=4 actor_rollout_ref.rollout.n=16")
    assert run.value("group_size") == 4
    [lint] = run.lints
    assert (lint.rule, lint.severity) == ("shared-key-conflict", "warning")
    assert lint.message == "rllm.rollout.n=4 wins over actor_rollout_ref.rollout.n=16, which has no effect."


def test_clip_range_low_and_high_follow_eps_clip() -> None:
    run = run_of(f"{VERL} rllm.algorithm.eps_clip=0.1 rllm.algorithm.eps_clip_high=0.3")
    assert known(run, "clip_ratio", "clip_ratio_high") == {"clip_ratio": 0.1, "clip_ratio_high": 0.3}
    run = run_of(f"{VERL} actor_rollout_ref.actor.clip_ratio_low=0.15")
    assert known(run, "clip_ratio", "clip_ratio_high") == {"clip_ratio": 0.15, "clip_ratio_high": 0.15}


def test_kl_beta_switches_the_kl_loss_on() -> None:
    run = run_of(f"{VERL} rllm.algorithm.kl_beta=0.001")
    assert known(run, "use_kl_loss", "kl_coef", "ref_policy") == {
        "use_kl_loss": True,
        "kl_coef": 0.001,
        "ref_policy": True,
    }
    run = run_of(f"{VERL} actor_rollout_ref.actor.kl_loss_coef=0.001 actor_rollout_ref.actor.use_kl_loss=false")
    assert run.value("use_kl_loss") is False  # written by the user


def test_asynchronous_training_overrules_batch_sizes_and_transfer() -> None:
    run = run_of(
        f"{VERL} rllm.async_training.enable=true rllm.async_training.mini_batch_size=32 rllm.data.train_batch_size=64 "
        "actor_rollout_ref.actor.ppo_mini_batch_size=16"
    )
    expected = {
        "train_batch_prompts": 1,
        "mini_batch_prompts": 32,
        "weight_sync_backend": "nccl",
        "async_training": True,
    }
    assert known(run, *expected) == expected
    assert [lint.message for lint in run.lints] == [
        "actor_rollout_ref.actor.ppo_mini_batch_size=16 has no effect: rLLM sets it to 32 "
        "(rllm.async_training.mini_batch_size).",
        "rllm.data.train_batch_size=64 has no effect: rLLM sets it to 1 (rllm.async_training.enable).",
    ]
    assert batch(run) == {"samples_per_optimizer_step": 256, "formula": {"samples_per_optimizer_step": "32 x 8"}}


def test_colocated_training_forces_the_naive_transfer() -> None:
    run = run_of(f"{VERL} actor_rollout_ref.rollout.checkpoint_engine.backend=nccl")
    assert run.value("weight_sync_backend") == "naive"
    assert [lint.rule for lint in run.lints] == ["value-without-effect"]


def test_the_legacy_trainer_has_the_defaults_of_verl() -> None:
    run = run_of(LEGACY, rllm="0.2.1")
    expected = {
        "adv_estimator": "grpo",
        "group_size": 8,
        "train_batch_prompts": 64,
        "max_response_length": 512,
        "rollout_mode": "async",
        "val_do_sample": True,
        "mask_truncated": True,
        "world_size": 4,
        "rllm_trainer": "legacy",
    }
    assert known(run, *expected) == expected
    assert run.versions == {"rllm": "0.2.1", "verl": "0.6.1"}
    assert run.settings["max_response_length"].version == "verl 0.6.1"
    assert "async_training" not in run.settings


def test_a_stated_version_makes_unknown_keys_of_verl_fatal() -> None:
    [unknown] = run_of(f"{LEGACY} model_engine=megatron", rllm="0.2.1").unknown_keys
    assert (unknown.key, unknown.fatal, unknown.note) == ("model_engine", True, "added in verl 0.7.1")
    assert run_of(f"{VERL} model_engine=megatron").unknown_keys == []
    [typo] = run_of(f"{VERL} actor_rollout_ref.rolout.n=8").unknown_keys
    assert (typo.key, typo.fatal) == ("actor_rollout_ref.rolout.n", False)


def test_the_users_own_verl_version_wins_over_the_pin() -> None:
    run = run_of(VERL, rllm="0.2.1", verl="0.7.1")
    assert run.versions == {"rllm": "0.2.1", "verl": "0.7.1"}
    assert run.settings["lora_rank"].version == "verl 0.7.1"


def test_an_unnamed_trainer_leaves_open_what_the_trainers_set_differently() -> None:
    run = run_of("python3 -m examples.countdown.train_countdown rllm.stepwise_advantage.enable=false trainer.nnodes=2")
    for name in ("adv_estimator", "group_size", "train_batch_prompts"):
        assert isinstance(run.settings[name].value, Unresolved), name
    assert run.value("nnodes") == 2 and run.value("gpu_memory_utilization") == 0.5
    assert "which of rLLM's trainers runs is not said; what they set differently is unknown" in run.notes


def test_hosted_backends_need_no_verl() -> None:
    run = run_of(
        "python -u train.py rllm/backend=tinker model.name=Qwen/Qwen3-4B-Instruct-2507 model.lora_rank=16 "
        "training.group_size=4 data.train_batch_size=32 rllm.algorithm.adv_estimator=grpo"
    )
    expected = {
        "model": "Qwen/Qwen3-4B-Instruct-2507",
        "lora_rank": 16,
        "group_size": 4,
        "train_batch_prompts": 32,
        "learning_rate": 2e-5,
        "bypass_mode": True,
        "use_critic": False,
        "rollout_engine": "tinker",
    }
    assert known(run, *expected) == expected
    assert run.settings["group_size"].key == "training.group_size"
    assert "rollout_tensor_parallel" not in run.settings and "world_size" not in run.settings
    assert batch(run)["samples_per_step"] == 128


def test_batch_table_counts_trajectories() -> None:
    table = batch(run_of(f"{VERL} actor_rollout_ref.actor.ppo_mini_batch_size=32"))
    assert (table["prompts_per_step"], table["samples_per_step"], table["samples_per_optimizer_step"]) == (64, 512, 256)


def test_a_config_file_may_bring_keys_of_its_own_but_an_override_may_not() -> None:
    entries = [Entry("trainer.log_episodes", False, "own.yaml", 3), Entry("rllm.rollout.n", 4, "own.yaml", 4)]
    files = [Part("yaml", "own.yaml", entries=entries)]
    versions = {"rllm": "0.3.0.pre0.post20260815", "verl": "0.8.0"}
    run = build([*files, *parts(f"{VERL} rllm.gateway.public_url=null")], Options(versions=versions))
    assert [(row.key, row.fatal) for row in run.unknown_keys] == [("rllm.gateway.public_url", True)]
    assert run.value("group_size") == 4


def test_a_config_file_is_read_below_the_launch() -> None:
    config = Part(
        "yaml",
        "run.yaml",
        entries=[Entry("rllm.rollout.n", 16, "run.yaml", 3), Entry("rllm.backend", "verl", "run.yaml", 1)],
    )
    run = build([config, *parts("python train.py rllm.data.train_batch_size=8")], Options())
    assert known(run, "group_size", "train_batch_prompts") == {"group_size": 16, "train_batch_prompts": 8}
    assert (run.settings["group_size"].file, run.settings["group_size"].line) == ("run.yaml", 3)


def test_keys_of_rllm_itself_are_judged_by_its_own_table() -> None:
    [typo] = run_of(f"{VERL} rllm.rolout.n=8").unknown_keys
    assert (typo.key, typo.did_you_mean[0], typo.fatal) == ("rllm.rolout.n", "rllm.rollout.n", False)
    [typo] = run_of(f"{VERL} rllm.rolout.n=8", rllm="0.3.0.pre0.post20260815").unknown_keys
    assert typo.fatal
    assert run_of(f"{VERL} +rllm.agent_name=math").unknown_keys == []


def test_the_unified_trainer_of_0_3_0_pre_mirrors_in_another_way() -> None:
    run = run_of(f"{VERL} rllm.algorithm.adv_estimator=rloo", rllm="0.3.0.pre0")
    assert run.versions["verl"] == "0.7.1"
    assert run.value("adv_estimator") == "rloo"
    assert isinstance(run.settings["group_size"].value, Unresolved)


def test_the_hosted_group_size_follows_training_group_size() -> None:
    assert run_of("python train.py rllm/backend=fireworks training.group_size=16").value("group_size") == 16
    assert run_of("python train.py rllm/backend=fireworks").value("group_size") == 8


@pytest.mark.parametrize(
    ("command", "score"),
    [
        ("python -m rllm.trainer.verl.train_agent_ppo trainer.nnodes=1", 100),
        ("python train.py rllm/backend=fireworks training.group_size=8", 90),
        ("python train.py rllm.rollout.n=8 actor_rollout_ref.rollout.n=8", 90),
        ("python -m examples.verifiers_env.train --config-name=tinker_rl_trainer training.group_size=8", 85),
        ("python -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8", 0),
    ],
)
def test_who_is_claimed(command: str, score: int) -> None:
    assert max(claims(part) for part in parts(command)) == score
