"""ms-swift: flags, YAML and Ray sections become a run with ms-swift's own defaults by version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grpo_guard.configs.adapters.ms_swift import batch
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved
from grpo_guard.validate import validate_targets

GRPO = """
NPROC_PER_NODE={processes} CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf --rlhf_type grpo --model Qwen/Qwen3-30B-A3B \
    --{tuner} lora --torch_dtype bfloat16 --use_vllm true --vllm_mode colocate --sleep_level 1 --num_generations 8 \
    --per_device_train_batch_size 4 --reward_funcs accuracy format --deepspeed zero2 {more}
"""


def script(more: str = "", tuner: str = "tuner_type", processes: str = "4") -> dict[str, str]:
    return {"run.sh": GRPO.format(more=more, tuner=tuner, processes=processes)}


def value(run: RunConfig, name: str) -> Any:
    return run.settings[name].value


def test_what_was_written_and_what_follows(run_of) -> None:
    run = run_of(script("--gradient_accumulation_steps 2"), **{"ms-swift": "4.5.3"})
    expected = {
        "adv_estimator": "grpo", "group_size": 8, "use_critic": False, "kl_coef": 0.04, "use_kl_loss": True,
        "ref_policy": True, "loss_type": "grpo", "scale_rewards": "group", "norm_adv_by_std": True,
        "clip_ratio": 0.2, "clip_ratio_high": 0.2, "temperature": 0.9, "max_response_length": 512,
        "lora_rank": 8, "learning_rate": 1e-4, "model_dtype": "bfloat16", "bf16": True, "fp16": False,
        "rollout_engine": "vllm", "rollout_mode": "colocate", "sleep_level": 1, "sleep_mode": True,
        "gpu_memory_utilization": 0.9, "world_size": 4, "eval_strategy": "no", "is_moe": True,
        "sharding_backend": "deepspeed", "zero_stage": 2, "overlap_comm": False, "grad_clip": 1.0,
    }  # fmt: skip
    assert {name: value(run, name) for name in expected} == expected
    assert run.unknown_keys == []


def test_the_place_is_the_users_and_the_default_names_its_release(run_of) -> None:
    run = run_of(script(), **{"ms-swift": "4.5.3", "transformers": "4.57.6"})
    group, clip, norm = (run.settings[name] for name in ("group_size", "clip_ratio", "weight_decay"))
    assert (group.key, group.file, group.line, group.origin) == ("--num_generations", "run.sh", 2, "explicit")
    assert (clip.key, clip.origin, clip.version) == ("--epsilon", "default", "ms-swift 4.5.3")
    assert (norm.value, norm.version) == (0.1, "ms-swift 4.5.3")
    assert run.settings["zero_stage"].note == "in ms-swift's zero2.json"


def test_batch_is_trls(run_of) -> None:
    run = run_of(script("--gradient_accumulation_steps 2 --steps_per_generation 4"), **{"ms-swift": "4.5.3"})
    table = batch(run)
    assert table["samples_per_step"] == 4 * 4 * 4
    assert table["prompts_per_step"] == 8
    assert table["samples_per_optimizer_step"] == 4 * 2 * 4
    assert table["optimizer_steps_per_rollout"] == 2


@pytest.mark.parametrize(
    ("version", "steps"),
    [("3.6.4", 1), ("3.7.0", 1), ("4.5.3", 1)],
)
def test_accumulation_where_none_is_given(run_of, version: str, steps: int) -> None:
    """Up to 3.6.4 it fills up to 16 samples (here 4 x 4 processes); from 3.7.0 on GRPO takes one micro-batch."""
    tuner = "tuner_type" if version > "4" else "train_type"
    run = run_of(script(tuner=tuner), **{"ms-swift": version})
    assert value(run, "gradient_accumulation") == steps
    two = run_of(script(tuner=tuner, processes="2"), **{"ms-swift": version})
    assert value(two, "gradient_accumulation") == (2 if version == "3.6.4" else 1)


@pytest.mark.parametrize(
    ("version", "name", "default"),
    [
        ("4.0.2", "top_p", 0.9),
        ("4.0.3", "top_p", 1.0),
        ("4.0.2", "top_k", 50),
        ("4.0.3", "top_k", -1),
    ],
)
def test_sampling_defaults_by_version(run_of, version: str, name: str, default: Any) -> None:
    run = run_of(script(), **{"ms-swift": version})
    assert (value(run, name), run.settings[name].origin) == (default, "default")


def test_before_3_11_1_the_address_decides_the_mode(run_of) -> None:
    more = "--vllm_server_host 10.0.0.2"
    old = run_of(script(more, tuner="train_type"), **{"ms-swift": "3.10.3"})
    new = run_of(script(more), **{"ms-swift": "4.5.3"})
    assert (value(old, "rollout_mode"), old.settings["rollout_mode"].key) == ("server", "--vllm_server_host")
    assert value(new, "rollout_mode") == "colocate"


def test_a_renamed_argument_is_unknown_with_its_new_name(run_of) -> None:
    run = run_of(script(tuner="train_type"), **{"ms-swift": "4.1.0"})
    (row,) = run.unknown_keys
    assert (row.key, row.did_you_mean, row.fatal) == ("--train_type", ["--tuner_type"], True)
    assert row.note == "renamed to tuner_type in ms-swift 4.0.0"
    assert run_of(script(tuner="train_type"), **{"ms-swift": "4.0.4"}).unknown_keys == []


def test_a_misspelt_argument_has_a_suggestion(run_of) -> None:
    run = run_of(script("--num_generation_batch 3 --vllm_gpu_memory_utilisation 0.5"), **{"ms-swift": "4.5.3"})
    meant = {row.key: row.did_you_mean[:1] for row in run.unknown_keys}
    assert meant["--vllm_gpu_memory_utilisation"] == ["--vllm_gpu_memory_utilization"]


def test_without_a_version_only_what_no_release_knows_is_unknown(run_of) -> None:
    assert run_of(script(tuner="train_type")).unknown_keys == []
    (row,) = run_of(script("--num_generationz 8")).unknown_keys
    assert (row.key, row.fatal) == ("--num_generationz", False)


def test_a_value_that_is_no_choice_stops_the_run(run_of) -> None:
    run = run_of(script("--importance_sampling_level sentence"), **{"ms-swift": "4.5.3"})
    (lint,) = [lint for lint in run.lints if lint.rule == "invalid-choice"]
    assert lint.severity == "error"
    assert "--importance_sampling_level=sentence" in lint.message


YAML = """
ENV:
  NPROC_PER_NODE: 8
  NCCL_DEBUG: INFO
rlhf_type: grpo
model: Qwen/Qwen2.5-7B-Instruct
tuner_type: full
use_vllm: true
vllm_mode: server
vllm_server_host: [10.0.0.2]
num_generations: 16
per_device_train_batch_size: 2
"""


def test_a_yaml_with_an_environment_block(run_of) -> None:
    files = {"grpo.yaml": YAML, "run.sh": "swift rlhf grpo.yaml --num_generations 8\n"}
    run = run_of(files, "run.sh", **{"ms-swift": "4.6.0"})
    assert (value(run, "world_size"), run.settings["world_size"].file) == (8, "grpo.yaml")
    assert run.env["NCCL_DEBUG"].value == "INFO"
    assert (value(run, "group_size"), run.settings["group_size"].file) == (8, "run.sh")
    assert (value(run, "learning_rate"), value(run, "lora_rank")) == (1e-5, 0)


def test_a_yaml_that_is_not_there_leaves_defaults_open(run_of) -> None:
    run = run_of({"run.sh": "swift rlhf away.yaml --rlhf_type grpo\n"}, **{"ms-swift": "4.6.0"})
    assert isinstance(value(run, "group_size"), Unresolved)
    assert any("away.yaml: not found" in note for note in run.notes)


MEGATRON = """
NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 \
    --micro_batch_size 2 --global_batch_size 64 --num_generations 8 --use_vllm true --vllm_mode colocate {more}
"""


def test_megatron_has_its_own_arithmetic(run_of) -> None:
    run = run_of({"run.sh": MEGATRON.format(more="--steps_per_generation 2")}, **{"ms-swift": "4.5.3"})
    assert value(run, "sharding_backend") == "megatron"
    assert value(run, "data_parallel_size") == 4
    assert value(run, "generation_batch_size") == 128
    assert batch(run)["prompts_per_step"] == 16


RAY = """
rlhf_type: grpo
model: Qwen/Qwen2.5-7B
global_batch_size: 16
micro_batch_size: 2
num_generations: 8
use_vllm: true
colocate_groups: [[train, rollout]]
train:
  gpus: 4
  tuner_type: lora
  lora_rank: 16
rollout:
  gpus: 4
  vllm_gpu_memory_utilization: 0.4
"""


def test_the_sections_of_a_yaml_for_ray(run_of) -> None:
    files = {"ray.yaml": RAY, "run.sh": "megatron rlhf --use_ray true --config ray.yaml\n"}
    run = run_of(files, "run.sh", **{"ms-swift": "4.5.3"})
    expected = {"world_size": 4, "lora_rank": 16, "gpu_memory_utilization": 0.4, "rollout_mode": "colocate"}
    assert {name: value(run, name) for name in expected} == expected
    assert run.unknown_keys == []


def test_a_server_and_other_commands(run_of) -> None:
    server = run_of({"run.sh": "swift rollout --model Qwen/Qwen2.5-7B --vllm_data_parallel_size 4\n"})
    assert (value(server, "rollout_mode"), value(server, "rollout_data_parallel")) == ("server", 4)
    other = run_of({"run.sh": "swift deploy --model Qwen/Qwen2.5-7B --served_model_name x\n"})
    assert (other.framework, other.unknown_keys) == ("ms-swift", [])


def test_supervised_training_is_no_grpo(run_of) -> None:
    run = run_of({"run.sh": "swift sft --model Qwen/Qwen2.5-7B --tuner_type lora\n"}, **{"ms-swift": "4.5.3"})
    assert "group_size" not in run.settings
    assert "adv_estimator" not in run.settings


# -- what validate says --


def findings(tmp_path: Path, text: str, **versions: str) -> set[str]:
    path = tmp_path / "run.sh"
    path.write_text(text)
    return {finding.rule for finding in validate_targets([path], versions=versions).findings}


COLOCATE = GRPO.format(more="", tuner="train_type", processes="4")
LORA_SYNC = " --vllm_enable_lora true"
ROLLOUT = "swift rollout --model Qwen/Qwen2.5-7B"
SERVER = COLOCATE.replace("--vllm_mode colocate --sleep_level 1", "--vllm_mode server --vllm_server_host 10.0.0.2")


@pytest.mark.parametrize(
    ("bug", "text", "affected", "fixed"),
    [
        ("ms-swift-6275", COLOCATE + " --padding_free true --attn_impl flash_attn", "3.9.1", "3.9.2"),
        ("ms-swift-7017", COLOCATE.replace("sleep_level 1", "sleep_level 2") + LORA_SYNC, "3.11.0", "3.11.1"),
        ("ms-swift-8102", COLOCATE.replace("zero2", "zero3") + " --multi_turn_scheduler m", "3.12.6", "4.0.0"),
        ("ms-swift-8275", COLOCATE + " --vllm_enable_lora true --resume_from_checkpoint out/1", "4.0.1", "4.0.2"),
        ("ms-swift-9775", SERVER + " --async_generate true", "4.4.1", "4.4.2"),
        ("ms-swift-9793", COLOCATE.replace("--deepspeed zero2", "--fsdp fsdp2 --offload_model true"), "4.4.2", "4.5.0"),
        ("ms-swift-9856", ROLLOUT + " --vllm_enable_lora true --multi_turn_scheduler m", "4.4.2", "4.5.0"),
        ("ms-swift-8427", MEGATRON.format(more=""), "4.0.2", "4.0.3"),
        ("ms-swift-9590", MEGATRON.format(more="--torch_dtype bfloat16"), "4.3.1", "4.3.2"),
        ("ms-swift-9921", MEGATRON.format(more="--kl_in_reward true --beta 0.01"), "4.5.2", "4.5.3"),
        ("ms-swift-7858", ROLLOUT + " --vllm_data_parallel_size 4", "3.12.2", "3.12.3"),
    ],
)
def test_a_bug_is_told_in_the_releases_that_have_it(tmp_path, bug: str, text: str, affected: str, fixed: str) -> None:
    text = text.replace("\n --", " --").rstrip() + "\n"
    assert bug in findings(tmp_path, text, **{"ms-swift": affected})
    assert bug not in findings(tmp_path, text, **{"ms-swift": fixed})


def test_the_version_of_the_engine_counts_too(tmp_path) -> None:
    text = COLOCATE.rstrip() + " --vllm_enable_lora true\n"
    assert "ms-swift-7245" in findings(tmp_path, text, **{"ms-swift": "3.11.0", "vllm": "0.12.0"})
    assert "ms-swift-7245" not in findings(tmp_path, text, **{"ms-swift": "3.11.0", "vllm": "0.11.0"})


def test_nothing_is_an_error_without_a_version(tmp_path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(SERVER.rstrip() + " --async_generate true --vllm_enable_lora true --num_generations 1\n")
    assert {finding.severity for finding in validate_targets([path]).findings} <= {"warning", "info"}
