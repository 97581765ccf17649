"""OpenRLHF: flags in both spellings become the same run, with the trainer's own defaults and consequences."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.adapters.openrlhf import batch, build, claims
from grpo_guard.configs.parts import Part, parts_of_command
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Command, Unresolved, Word
from grpo_guard.validate import validate_targets

DOTTED = """
python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 8 --ref.num_gpus_per_node 8
  --vllm.num_engines 4 --vllm.tensor_parallel_size 2 --train.colocate_all --vllm.enable_sleep
  --actor.model_name_or_path Qwen/Qwen3-30B-A3B --reward.remote_url ./math_reward.py
  --algo.advantage.estimator group_norm --algo.kl.init_coef 1e-3 --algo.kl.use_loss --algo.kl.estimator k3
  --actor.eps_clip_low_high 0.2 0.28 --rollout.n_samples_per_prompt 8 --rollout.batch_size 128
  --train.batch_size 256 --train.micro_batch_size 4 --data.max_len 4096
  --ds.zero_stage 3 --ds.adam_offload --ds.overlap_comm --ds.param_dtype bf16 --actor.max_norm 0.5
"""
FLAT = """
python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --ref_num_gpus_per_node 8
  --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models --vllm_enable_sleep
  --pretrain Qwen/Qwen3-30B-A3B --remote_rm_url ./math_reward.py
  --advantage_estimator group_norm --init_kl_coef 1e-3 --use_kl_loss --kl_estimator k3
  --eps_clip_low_high 0.2 0.28 --n_samples_per_prompt 8 --rollout_batch_size 128
  --train_batch_size 256 --micro_train_batch_size 4 --max_len 4096
  --zero_stage 3 --adam_offload --overlap_comm --param_dtype bf16 --max_norm 0.5
"""
EFFECTIVE = {
    "adv_estimator": "grpo",
    "norm_adv_by_std": True,
    "use_critic": False,
    "ref_policy": True,
    "use_kl_loss": True,
    "use_kl_in_reward": False,
    "kl_coef": 0.001,
    "clip_ratio": 0.2,
    "clip_ratio_high": 0.28,
    "group_size": 8,
    "rollout_batch_prompts": 128,
    "train_batch_samples": 256,
    "micro_batch_per_gpu": 4,
    "world_size": 8,
    "data_parallel_size": 8,
    "sharding_backend": "deepspeed",
    "zero_stage": 3,
    "overlap_comm": True,
    "offload_optimizer": "cpu",
    "optimizer": "cpu_adam",
    "grad_clip": 0.5,
    "model_dtype": "bfloat16",
    "bf16": True,
    "fp16": False,
    "rollout_engine": "vllm",
    "rollout_engines": 4,
    "rollout_tensor_parallel": 2,
    "colocate": True,
    "free_cache_engine": True,
    "sleep_level": 1,
    "remote_reward": True,
    "reward_model": False,
    "rollout_is": None,
    "is_moe": True,
}


def parts(command: str) -> list[Part]:
    words = [Word(text, 1, "run.sh") for text in shlex.split(command)]
    return parts_of_command(Command(words, {}, "run.sh", 1))


def run_of(command: str, version: str | None = None, **options: Any) -> RunConfig:
    versions = {"openrlhf": version} if version else {}
    return build(parts(command), Options(versions=versions, **options))


def trainer(flags: str, version: str | None = None) -> RunConfig:
    return run_of(f"python -m openrlhf.cli.train_ppo_ray {flags}", version)


@pytest.mark.parametrize(("command", "version"), [(DOTTED, "0.11.2"), (FLAT, "0.10.1")])
def test_both_spellings_give_the_same_run(command: str, version: str) -> None:
    run = run_of(command, version)
    assert {name: run.value(name, "missing") for name in EFFECTIVE} == EFFECTIVE
    assert run.unknown_keys == [] and run.lints == []


def test_settings_keep_the_flag_as_written_and_defaults_their_version() -> None:
    run = run_of(DOTTED, "0.11.2")
    group, temperature = run.settings["group_size"], run.settings["temperature"]
    assert (group.key, group.origin, group.file, group.line) == (
        "--rollout.n_samples_per_prompt",
        "explicit",
        "run.sh",
        1,
    )
    assert (temperature.key, temperature.value, temperature.version) == (
        "--rollout.temperature",
        1.0,
        "OpenRLHF 0.11.2",
    )
    assert run.settings["adv_estimator"].note == "OpenRLHF calls it group_norm"


def test_flat_flags_without_a_version_mean_the_last_flat_release() -> None:
    run = run_of(FLAT)
    assert run.settings["temperature"].version == "OpenRLHF 0.10.1.post2"
    assert run.notes == ["flat flag names: OpenRLHF before 0.10.2; defaults are those of 0.10.1.post2"]
    assert run.unknown_keys == []


def test_dotted_flags_without_a_version_mean_the_newest_release() -> None:
    assert run_of(DOTTED).settings["temperature"].version == "OpenRLHF 0.11.2"


@pytest.mark.parametrize(
    ("flag", "version", "meant"),
    [
        ("--n_samples_per_prompt 8", "0.11.2", ["--rollout.n_samples_per_prompt"]),
        ("--rollout.n_samples_per_prompt 8", "0.10.1", ["--n_samples_per_prompt"]),
    ],
)
def test_a_spelling_that_the_version_refuses_is_a_fatal_unknown_key(flag: str, version: str, meant: list[str]) -> None:
    run = trainer(flag, version)
    [unknown] = run.unknown_keys
    assert (unknown.did_you_mean, unknown.fatal) == (meant, True)
    assert run.value("group_size") == 8  # what was meant is still checked


def test_mixed_spellings_are_refused_by_every_release() -> None:
    run = trainer("--rollout.batch_size 64 --train.batch_size 64 --zero_stage 2")
    assert [(key.key, key.fatal) for key in run.unknown_keys] == [("--zero_stage", True)]


def test_without_a_version_a_flag_of_another_release_is_not_judged() -> None:
    run = trainer("--rollout.batch_size 64 --algo.advantage.is_correction_enable")  # gone in 0.11.2
    assert run.unknown_keys == []
    assert run.value("rollout_is") == "token"


def test_unique_beginnings_of_flags_are_taken_as_argparse_does() -> None:
    run = trainer("--ds.zero 1 --rollout.n_samples 4", "0.11.2")
    assert (run.value("zero_stage"), run.value("group_size"), run.unknown_keys) == (1, 4, [])


def test_an_unknown_flag_gets_a_proposal() -> None:
    [unknown] = trainer("--rollout.n_sample_per_promt 8", "0.11.2").unknown_keys
    assert unknown.fatal and unknown.did_you_mean[0] == "--rollout.n_samples_per_prompt"


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ("--train.colocate_all True", "stray-argument"),
        ("stray --train.batch_size 64", "stray-argument"),
        ("--algo.advantage.estimator grpo", "invalid-choice"),
    ],
)
def test_what_argparse_refuses_is_an_error(flags: str, rule: str) -> None:
    assert [(lint.rule, lint.severity) for lint in trainer(flags, "0.11.2").lints] == [(rule, "error")]


def test_a_switch_before_an_unresolved_word_is_not_judged() -> None:
    words = ["python", "-m", "openrlhf.cli.train_ppo_ray", "--train.colocate_all"]
    command = Command(
        [*(Word(word, 1, "run.sh") for word in words), Word("$EXTRA", 1, "run.sh", ("EXTRA",))], {}, "", 1
    )
    run = build(parts_of_command(command), Options(versions={"openrlhf": "0.11.2"}))
    assert run.lints == [] and isinstance(run.settings["colocate"].value, Unresolved)


def test_defaults_of_the_trainer() -> None:
    run = trainer("--actor.model_name_or_path Qwen/Qwen3-4B", "0.11.2")
    expected = {
        "adv_estimator": "gae",
        "use_critic": True,
        "group_size": 1,
        "kl_coef": 0.01,
        "use_kl_in_reward": True,
        "rollout_engines": None,
        "zero_stage": 2,
        "gpu_memory_utilization": 0.95,
        "generate_batch_prompts": 1024,
        "optimizer": "adamw",
        "learning_rate": 1e-6,
        "world_size": 8,
        "free_cache_engine": False,
    }
    assert {name: run.value(name) for name in expected} == expected
    assert "rollout_engine" not in run.settings


def test_bf16_was_a_switch_until_0_9_1() -> None:
    assert trainer("--zero_stage 3 --bf16", "0.8.11").value("model_dtype") == "bfloat16"
    assert "model_dtype" not in trainer("--zero_stage 3 --n_samples_per_prompt 4", "0.8.11").settings


def test_ring_attention_and_tensor_parallel_leave_fewer_data_parallel_ranks() -> None:
    run = trainer("--actor.num_nodes 2 --ds.ring_attn_size 2 --ds.tensor_parallel_size 2", "0.11.2")
    assert (run.value("world_size"), run.value("data_parallel_size")) == (16, 4)
    assert run.value("use_remove_padding") is True  # ring attention switches packing on


def test_muon_has_its_own_learning_rate() -> None:
    run = trainer("--actor.optim muon --actor.muon.lr 0.01", "0.11.2")
    assert (run.value("optimizer"), run.value("learning_rate")) == ("muon", 0.01)
    assert run.settings["learning_rate"].key == "--actor.muon.lr"


@pytest.mark.parametrize(
    ("flags", "version", "expected"),
    [
        ("--algo.advantage.is_correction_level seq", "0.11.2", "sequence"),
        ("--algo.advantage.is_correction_level token", "0.11.2", "token"),
        (
            "--algo.advantage.is_correction_enable --algo.advantage.is_correction_type seq-mask-tis",
            "0.11.0",
            "sequence",
        ),
        ("--enable_vllm_is_correction", "0.9.10", "token"),
        ("--zero_stage 2", "0.9.10", None),
    ],
)
def test_importance_sampling_correction_by_version(flags: str, version: str, expected: str | None) -> None:
    assert trainer(flags, version).value("rollout_is", "missing") == expected


def test_batch_table() -> None:
    table = batch(run_of(DOTTED, "0.11.2"))
    assert table == {
        "prompts_per_step": 128,
        "samples_per_step": 1024,
        "tokens_per_step": 1024 * 4096,
        "samples_per_gpu": 128,
        "samples_per_optimizer_step": 256,
        "mini_batches": 4,
        "optimizer_steps_per_rollout": 4,
        "micro_steps": 8,
        "formula": {
            "samples_per_step": "128 x 8",
            "tokens_per_step": "at most 1024 x 4096",
            "samples_per_gpu": "1024 / 8",
            "mini_batches": "1024 // 256",
            "micro_steps": "256 / (4 x 8)",
        },
    }


def test_batch_table_leaves_out_what_is_not_known() -> None:
    command = Command(
        [
            *(
                Word(word, 1, "run.sh")
                for word in ("python", "-m", "openrlhf.cli.train_ppo_ray", "--rollout.batch_size")
            ),
            Word("$N", 1, "run.sh", ("N",)),
        ],
        {},
        "run.sh",
        1,
    )
    table = batch(build(parts_of_command(command), Options()))
    assert table == {"samples_per_optimizer_step": 128, "micro_steps": 16, "formula": {"micro_steps": "128 / (1 x 8)"}}


def test_another_openrlhf_program_is_named_and_not_checked() -> None:
    run = run_of("deepspeed --module openrlhf.cli.train_sft --zero_stage 2 --pretrain Qwen/Qwen3-4B")
    assert run.notes == ["openrlhf.cli.train_sft is not the RL trainer (train_ppo_ray); its flags are not checked"]
    assert run.native["--zero_stage"].value == 2 and "zero_stage" not in run.settings
    assert batch(run) == {}


@pytest.mark.parametrize(
    ("command", "score"),
    [
        ("python -m openrlhf.cli.train_ppo_ray --train.batch_size 8", 100),
        ("python openrlhf/cli/train_ppo_ray.py --train.batch_size 8", 100),
        ("python -m openrlhf.cli.train_dpo --zero_stage 3", 90),
        ("python train.py --advantage_estimator rloo --n_samples_per_prompt 8 --init_kl_coef 0", 0),
        ("python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo", 0),
    ],
)
def test_who_is_claimed(command: str, score: int) -> None:
    assert max(claims(part) for part in parts(command)) == score


def test_a_script_that_submits_to_ray(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(
        "set -x\n"
        "N=8\n"
        "ray job submit --address=http://127.0.0.1:8265 \\\n"
        """   --runtime-env-json='{"working_dir": "/openrlhf", "env_vars": {"NCCL_DEBUG": "INFO"}}' \\\n"""
        "   -- python3 -m openrlhf.cli.train_ppo_ray \\\n"
        "   --actor.num_gpus_per_node ${N} --vllm.num_engines ${N} \\\n"
        "   --algo.advantage.estimator rloo --rollout.n_samples_per_prompt 1 --train.colocate_all\n"
    )
    report = validate_targets([script], versions={"openrlhf": "0.11.2"})
    assert report.framework == "openrlhf"
    [finding] = [finding for finding in report.findings if finding.rule == "one-sample-groups"]
    assert finding.setting is not None
    assert (finding.severity, finding.setting.key, finding.setting.line) == (
        "error",
        "--rollout.n_samples_per_prompt",
        7,
    )
    assert {setting.field: setting.value for setting in report.settings}["rollout_engines"] == 8


def test_flags_alone_are_claimed_when_three_of_them_tell() -> None:
    entries = parts(DOTTED)[0].entries
    assert claims(Part("shell", "flags.txt", entries=entries)) == 60
    assert claims(Part("shell", "flags.txt", entries=entries[:2])) == 0
