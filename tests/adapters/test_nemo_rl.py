"""NeMo-RL: a YAML with parents below Hydra overrides, and the released configs where a parent is not in the project."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_guard.configs.adapters.nemo_rl import batch
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

from .conftest import RunOf

RECIPE = """
defaults: ../../grpo_math_1B.yaml
grpo:
  num_prompts_per_step: 64
policy:
  model_name: Qwen/Qwen3-30B-A3B
  train_micro_batch_size: 1
  optimizer: null
  dtensor_cfg: {enabled: false}
  megatron_cfg:
    enabled: true
    tensor_model_parallel_size: 2
    pipeline_model_parallel_size: 2
    optimizer: {lr: 3.0e-7}
cluster: {gpus_per_node: 8, num_nodes: 4}
"""
LAUNCH = "uv run examples/run_grpo.py {} policy.train_micro_batch_size=2 grpo.num_generations_per_prompt=8\n"
V = {"nemo-rl": "0.7.0"}


def known(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name, "unknown") for name in names}


def notes(run: RunConfig) -> str:
    return " | ".join(run.notes)


def test_a_recipe_on_a_released_parent(run_of: RunOf) -> None:
    run = run_of({"recipe.yaml": RECIPE}, **V)
    expected = {
        "train_batch_prompts": 64,
        "group_size": 16,  # of the parent
        "train_batch_samples": 512,
        "logprob_micro_batch_per_gpu": 1,  # ${policy.train_micro_batch_size}
        "max_token_len_per_gpu": 512,  # ${mul:${policy.max_total_sequence_length}, ...}
        "sharding_backend": "megatron",
        "tensor_parallel": 2,
        "learning_rate": 3e-7,
        "grad_clip": 1.0,  # ${policy.max_grad_norm}
        "gating_dtype": "fp64",
        "is_moe": True,
        "world_size": 32,
        "data_parallel_size": 8,
        "use_kl_loss": True,
        "lora_rank": 0,
        "sleep_level": 1,
    }
    assert known(run, *expected) == expected
    assert run.settings["learning_rate"].line == 14
    assert run.settings["group_size"].version == "NeMo-RL 0.7.0"
    assert run.keys["tensor_parallel"] == "policy.megatron_cfg.tensor_model_parallel_size"
    assert "those of NeMo-RL 0.7.0's grpo_math_1B.yaml" in notes(run)
    assert batch(run)["samples_per_gpu"] == 64


def test_parents_in_the_project_are_followed(run_of: RunOf) -> None:
    files = {
        "child.yaml": "defaults: parent.yaml\ngrpo: {num_generations_per_prompt: 4}\n",
        "parent.yaml": "grpo: {num_prompts_per_step: 10, num_generations_per_prompt: 2}\npolicy: {precision: fp16}\n",
    }
    run = run_of(files, "child.yaml", **V)
    assert known(run, "group_size", "train_batch_prompts", "autocast_dtype") == {
        "group_size": 4,
        "train_batch_prompts": 10,
        "autocast_dtype": "float16",
    }
    assert run.settings["train_batch_prompts"].file == "parent.yaml"
    assert "train_batch_samples" not in run.settings  # nobody sets it, and no default fills it


def test_a_section_that_the_child_replaces_whole(run_of: RunOf) -> None:
    files = {
        "child.yaml": "defaults: parent.yaml\nloss_fn: {_override_: true, ratio_clip_min: 0.1}\n",
        "parent.yaml": "grpo: {num_prompts_per_step: 10}\npolicy: {precision: bf16}\nloss_fn: {ratio_clip_max: 0.3}\n",
    }
    run = run_of(files, "child.yaml", **{"nemo-rl": "0.6.0"})
    assert run.value("clip_ratio") == 0.1
    assert "clip_ratio_high" not in run.settings


def test_overrides_win_over_the_file(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH.format("--config recipe.yaml"), "recipe.yaml": RECIPE}, "run.sh", **V)
    assert known(run, "group_size", "micro_batch_per_gpu", "train_batch_prompts") == {
        "group_size": 8,
        "micro_batch_per_gpu": 2,
        "train_batch_prompts": 64,
    }
    assert [source.path for source in run.sources] == ["run.sh", "recipe.yaml"]


def test_without_a_config_the_scripts_own_one_holds(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH.format("")}, **{"nemo-rl": "0.5.0"})
    assert run.value("train_batch_prompts") == 32
    vlm = run_of({"run.sh": "uv run examples/run_vlm_grpo.py grpo.seed=1\n"}, **V)
    assert vlm.value("model") == "Qwen/Qwen2.5-VL-3B-Instruct"


def test_a_config_that_is_not_there_leaves_unset_keys_unknown(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH.format("--config my/own.yaml")}, **V)
    assert run.value("group_size") == 8
    assert isinstance(run.settings["train_batch_prompts"].value, Unresolved)
    assert "my/own.yaml was not found: keys that are not set here are unknown" in run.notes


@pytest.mark.parametrize("program", ["run_sft.py", "run_dpo.py"])
def test_other_trainers_are_not_judged(run_of: RunOf, program: str) -> None:
    run = run_of({"run.sh": f"uv run examples/{program} policy.precision=fp16\n"}, **V)
    assert "settings of the GRPO trainer are not checked" in notes(run)
    assert set(run.settings) == {"program"}


def test_an_unknown_override_stops_hydra_and_a_plus_adds_it(run_of: RunOf) -> None:
    text = "uv run examples/run_grpo.py grpo.num_prompt_per_step=8 ++policy.generation.vllm_cfg.new_thing=1\n"
    (row,) = run_of({"run.sh": text}, **V).unknown_keys
    assert (row.key, row.did_you_mean[0], row.fatal) == ("grpo.num_prompt_per_step", "grpo.num_prompts_per_step", True)


def test_an_unknown_key_in_a_file_is_ignored_by_nemo_rl_and_said(run_of: RunOf) -> None:
    text = RECIPE.replace("train_micro_batch_size: 1", "train_microbatch_size: 1")
    (row,) = run_of({"recipe.yaml": text}, **V).unknown_keys
    assert (row.key, row.line, row.fatal) == ("policy.train_microbatch_size", 7, False)
    assert "policy.train_micro_batch_size" in row.did_you_mean


def test_a_key_of_another_version(run_of: RunOf) -> None:
    (row,) = run_of(
        {"run.sh": "uv run examples/run_grpo.py loss_fn.use_cispo=true\n"}, **{"nemo-rl": "0.5.0"}
    ).unknown_keys
    assert (row.key, row.note) == ("loss_fn.use_cispo", "added in nemo-rl 0.7.0")


def test_engines_with_their_own_gpus_leave_the_rest_to_the_trainer(run_of: RunOf) -> None:
    text = (
        "uv run examples/run_grpo.py cluster.gpus_per_node=8 policy.generation.colocated.enabled=false "
        "policy.generation.colocated.resources.gpus_per_node=2\n"
    )
    assert run_of({"run.sh": text}, **V).value("world_size") == 6
    with_reward = text.replace("cluster.", "++env.reward_model.enabled=true cluster.", 1)
    assert "world_size" not in run_of({"run.sh": with_reward}, **V).settings
