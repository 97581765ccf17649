"""Frameworks known by name only are named, and none of their settings is taken for another framework's."""

from __future__ import annotations

import shlex

import pytest

from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.adapters.recognised import batch, build, claims, name_of
from grpo_guard.configs.parts import Part, parts_of_command
from grpo_guard.configs.values import Command, Entry, Word

LAUNCHES = [
    ("uv run examples/run_grpo.py --config c.yaml grpo.num_prompts_per_step=32", "nemo-rl"),
    ("python -m skyrl.train.entrypoints.main_base trainer.algorithm.advantage_estimator=grpo", "skyrl"),
    ("python3 train.py --hf-checkpoint /m --rollout-batch-size 32 --n-samples-per-prompt 8", "slime"),
    ("python -m areal.launcher.ray examples/math/gsm8k_grpo.py --config c.yaml", "areal"),
    ("swift rlhf --rlhf_type grpo --model Qwen/Qwen3-4B", "ms-swift"),
    ("megatron rlhf --rlhf_type grpo --load ckpt", "ms-swift"),
    ("accelerate launch --num_processes 8 swift/cli/rlhf.py --rlhf_type grpo", "ms-swift"),
    ("torchrun --nproc_per_node 8 train_rl.py --grpo-group-size 16 --micro-batch-size 1", "megatron"),
    ("vllm serve Qwen/Qwen3-4B --tensor-parallel-size 2", "vllm"),
    ("python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-4B", "vllm"),
    ("python -m sglang.launch_server --model-path Qwen/Qwen3-4B --tp 2", "sglang"),
    ("llamafactory-cli train examples/train_lora/llama3_lora_ppo.yaml", "llama-factory"),
    ("axolotl train config.yaml", "axolotl"),
    ("python -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8", ""),
    ("python -m skyrl_agent.integrations.verl.verl_main_ppo actor_rollout_ref.rollout.n=8", ""),
    ("python train.py --learning_rate 1e-6 --num_generations 8", ""),
    ("python3 train.py --hf-checkpoint /m --seed 1", ""),  # one telling flag is not enough
]
FILES = [
    ("yaml", ["grpo.num_prompts_per_step", "policy.model_name", "loss_fn.ratio_clip_min"], "nemo-rl"),
    ("yaml", ["gconfig.n_samples", "actor.mb_spec.max_tokens_per_mb", "cluster.n_nodes", "trial_name"], "areal"),
    ("yaml", ["MODEL_ARGS.--num-layers", "MODEL_ARGS.--micro-batch-size", "MODEL_ARGS.--seq-length"], "megatron"),
    ("yaml", ["rlhf_type", "model", "external_plugins"], "ms-swift"),
    ("yaml", ["base_model", "rl", "trl.num_generations", "sequence_len"], "axolotl"),
    ("toml", ["orchestrator.batch_size", "deployment.num_train_gpus", "inference.vllm.data_parallel_size"], "prime-rl"),
    ("json", ["BackendConfig.npuDeviceIds", "ServerConfig.port"], "mindie"),
    ("json", ["zero_optimization.stage", "gradient_clipping"], ""),
    ("yaml", ["actor_rollout_ref.rollout.n", "algorithm.adv_estimator", "trainer.nnodes"], ""),
]


def parts(command: str) -> list[Part]:
    words = [Word(text, 1, "run.sh") for text in shlex.split(command)]
    return parts_of_command(Command(words[2:] if words[:1] == ["uv"] else words, {}, "run.sh", 1))


@pytest.mark.parametrize(("command", "name"), LAUNCHES)
def test_launches(command: str, name: str) -> None:
    found = parts(command.removeprefix("uv run "))
    assert name_of(found) == name
    assert (max(claims(part) for part in found) > 0) is (name != "")


@pytest.mark.parametrize(("format", "keys", "name"), FILES)
def test_files(format: str, keys: list[str], name: str) -> None:
    assert name_of([Part(format, "c", entries=[Entry(key, 1, "c", 1) for key in keys])]) == name


def test_a_program_is_surer_than_keys() -> None:
    keys = [Entry(key, 1, "c", 1) for key in FILES[0][1]]
    assert claims(Part("yaml", "c", entries=keys)) == 55
    assert claims(Part("shell", "run.sh", program="vllm serve", entries=keys)) == 95


def test_the_run_has_the_settings_as_written_and_no_canonical_field() -> None:
    run = build(parts("swift rlhf --rlhf_type grpo --num_generations 8"), Options())
    assert run.framework == "ms-swift"
    assert {key: setting.value for key, setting in run.native.items()} == {
        "--rlhf_type": "grpo",
        "--num_generations": 8,
    }
    assert set(run.settings) == {"program"}
    assert run.notes == ["ms-swift is recognised, but its settings are not checked yet"]
    assert batch(run) == {}


def test_a_name_that_the_caller_states_stands() -> None:
    run = build(parts("python train.py --lr 1"), Options(world_size=8), "torchtune")
    assert run.framework == "torchtune"
    assert run.value("world_size") == 8
    assert run.notes == ["torchtune is recognised, but its settings are not checked yet"]


def test_nothing_recognised_says_so() -> None:
    run = build(parts("python train.py --lr 1"), Options())
    assert (run.framework, run.notes) == ("", ["no framework was recognised; name it with --framework"])
