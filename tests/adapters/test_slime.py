"""slime: Megatron's flags, its own, and SGLang's behind a prefix; a misspelt flag is ignored without a message."""

from __future__ import annotations

import pytest

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.adapters.slime import batch
from grpo_guard.configs.run_config import RunConfig

from .conftest import RunOf

MODEL = """MODEL_ARGS=(
   --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --num-experts 128 --moe-router-topk 8
   --moe-router-dtype fp32 --moe-grouped-gemm
)
"""
LAUNCH = """#!/bin/bash
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
source "${SCRIPT_DIR}/models/qwen3-30B-A3B.sh"
ROLLOUT_ARGS=(
   --prompt-data /data/dapo.jsonl --num-rollout 3000 --rollout-batch-size 32 --n-samples-per-prompt 8
   --rollout-max-response-len 8192 --rollout-temperature 1 --global-batch-size 128
)
PERF_ARGS=(--tensor-model-parallel-size 4 --sequence-parallel --expert-model-parallel-size 8
   --expert-tensor-parallel-size 1 --use-dynamic-batch-size --max-tokens-per-gpu 20480)
GRPO_ARGS=(--advantage-estimator grpo --use-kl-loss --kl-loss-coef 0.00 --eps-clip 0.2 --eps-clip-high 0.28 --use-tis)
SGLANG_ARGS=(--rollout-num-gpus-per-engine 8 --sglang-mem-fraction-static 0.7 --sglang-cuda-graph-bs 1 2 4 8)
ray job submit --address="http://127.0.0.1:8265" \\
   --runtime-env-json='{"env_vars": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}' \\
   -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \\
   --hf-checkpoint /root/Qwen3-30B-A3B --ref-load /root/Qwen3-30B-A3B_torch_dist \\
   ${MODEL_ARGS[@]} ${ROLLOUT_ARGS[@]} ${PERF_ARGS[@]} ${GRPO_ARGS[@]} ${SGLANG_ARGS[@]}
"""


def files(text: str = LAUNCH) -> dict[str, str]:
    return {"run.sh": text}


@pytest.fixture
def run(run_of: RunOf, tmp_path) -> RunConfig:  # type: ignore[no-untyped-def]
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "qwen3-30B-A3B.sh").write_text(MODEL)
    return run_of(files(), slime="0.3.1")


def found(run: RunConfig) -> dict[str, str]:
    return {verdict.rule["id"]: verdict.finding.severity for verdict in check_run(run) if verdict.finding}


def test_the_three_kinds_of_flags(run: RunConfig) -> None:
    assert run.framework == "slime"
    assert (run.value("n_experts"), run.settings["n_experts"].file) == (128, "models/qwen3-30B-A3B.sh")
    assert (run.value("group_size"), run.value("adv_estimator"), run.value("use_critic")) == (8, "grpo", False)
    assert run.value("gpu_memory_utilization") == 0.7
    assert (run.value("rollout_engine"), run.value("rollout_tensor_parallel")) == ("sglang", 8)
    assert (run.value("rollout_is"), run.value("rollout_is_clip_max")) == ("token", 2.0)
    assert run.unknown_keys == []


def test_what_slime_sets_itself(run: RunConfig) -> None:
    assert (run.value("bf16"), run.value("use_distributed_optimizer")) == (True, True)
    assert (run.value("offload_train"), run.value("free_cache_engine")) == (True, True)  # --colocate
    assert run.value("learning_rate") == 1e-6  # Megatron has none; slime sets it anew


def test_the_layout_and_the_batch(run: RunConfig) -> None:
    assert (run.value("world_size"), run.value("data_parallel_size")) == (8, 2)
    assert batch(run) == {
        "prompts_per_step": 32,
        "samples_per_step": 256,
        "samples_per_optimizer_step": 128,
        "optimizer_steps_per_rollout": 2,
        "response_tokens_per_step": 2097152,
        "formula": {
            "samples_per_step": "32 x 8",
            "optimizer_steps_per_rollout": "256 // 128",
            "response_tokens_per_step": "at most 256 x 8192",
        },
    }


def test_the_release_names_its_megatron(run: RunConfig) -> None:
    assert run.versions["megatron-core"] == "0.16.0.dev20260214"


def test_steps_per_rollout_fix_the_global_batch(run_of: RunOf) -> None:
    text = LAUNCH.replace(" --global-batch-size 128", " --num-steps-per-rollout 4")
    run = run_of(files(text), slime="0.3.1")
    setting = run.settings["train_batch_samples"]
    assert (setting.value, setting.origin) == (64, "derived")


def test_unset_upper_clip_is_the_lower_one(run_of: RunOf) -> None:
    run = run_of(files(LAUNCH.replace(" --eps-clip-high 0.28", "")), slime="0.3.1")
    assert (run.value("clip_ratio"), run.value("clip_ratio_high")) == (0.2, 0.2)


def test_the_ppo_estimator_trains_a_critic(run_of: RunOf) -> None:
    run = run_of(files(LAUNCH.replace("--advantage-estimator grpo", "--advantage-estimator ppo")), slime="0.3.1")
    assert (run.value("adv_estimator"), run.value("use_critic")) == ("gae", True)


@pytest.mark.parametrize(
    ("flag", "version", "meant"),
    [
        ("--n-sample-per-prompt 8", "0.3.1", "--n-samples-per-prompt"),
        ("--update-weight-mode full", "0.2.4", ""),
    ],
)
def test_an_unknown_flag_does_nothing_and_says_nothing(run_of: RunOf, flag: str, version: str, meant: str) -> None:
    run = run_of(files(LAUNCH.replace("--colocate", f"--colocate {flag}")), slime=version)
    (row,) = run.unknown_keys
    assert (row.key, row.fatal) == (flag.split()[0], False)
    assert row.note.endswith("slime ignores it without a message")
    assert not meant or row.did_you_mean[0] == meant


def test_flags_of_the_patched_megatron_are_known(run_of: RunOf) -> None:
    text = LAUNCH.replace("--colocate", "--colocate --use-gated-attention --post-mlp-layernorm")
    assert run_of(files(text), slime="0.3.1").unknown_keys == []


def test_rules_of_megatron_speak_of_slime_runs(run_of: RunOf) -> None:
    text = LAUNCH.replace("--expert-model-parallel-size 8", "--expert-model-parallel-size 6 --num-experts 128")
    assert found(run_of(files(text), slime="0.3.1")) | {"megatron-5916": "info"} == {
        "experts-not-divisible-by-expert-parallel": "error",
        "parallel-size-does-not-divide-gpus": "error",
        "moe-router-in-model-dtype": "info",
        "megatron-5916": "info",
    }


@pytest.mark.parametrize(
    ("flags", "version", "bug"),
    [
        ("--eps-clip-c 3.0", "0.3.1", "slime-2247"),
        ("--normalize-advantages --context-parallel-size 2", "0.3.1", "slime-2235"),
        ("--partial-rollout", "0.3.0", "slime-2261"),
        (
            "--optimizer-cpu-offload --use-precision-aware-optimizer --overlap-cpu-optimizer-d2h-h2d",
            "0.2.1",
            "megatron-3140",
        ),
    ],
)
def test_known_bugs_that_flags_show(run_of: RunOf, flags: str, version: str, bug: str) -> None:
    assert bug in found(run_of(files(LAUNCH.replace("--colocate", f"--colocate {flags}")), slime=version))


def test_supervised_training_has_no_groups(run_of: RunOf) -> None:
    text = LAUNCH.replace("--n-samples-per-prompt 8", "--n-samples-per-prompt 1 --loss-type sft_loss")
    assert not {"one-sample-groups", "slime-rollout-samples-dropped"} & found(run_of(files(text), slime="0.3.1")).keys()
