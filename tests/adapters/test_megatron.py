"""Megatron-LM: flags of pretrain_*.py and train_rl.py, from the shell and from `MODEL_ARGS:`, by release."""

from __future__ import annotations

import pytest

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.adapters.megatron import batch
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

from .conftest import RunOf

CORE = "megatron-core"
LAUNCH = """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
MODEL_ARGS=(
    --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096
    --num-experts 128 --moe-router-topk 8 --moe-router-dtype fp32
)
PARALLEL_ARGS=(--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 4)
TRAIN_ARGS=(--bf16 --micro-batch-size 2 --global-batch-size 64 --lr 1e-5 --optimizer adam --no-masked-softmax-fusion)
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ${MODEL_ARGS[@]} ${PARALLEL_ARGS[@]} ${TRAIN_ARGS[@]}
"""
GRPO = """ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
MODE: rl
MODEL_ARGS:
  --perform-rl-step: true
  --grpo-prompts-per-step: 32
  --grpo-group-size: 16
  --grpo-iterations: 2
  --grpo-kl-beta: 0.0
  --micro-batch-size: 1
  --global-batch-size: 256
  --tensor-model-parallel-size: 2
  --seq-length: 2048
  --max-position-embeddings: 2048
  --bf16: true
  --lr: 1e-6
  --rl-partial-rollouts: true
  --load: ${CHECKPOINT_LOAD_PATH}/model
"""


def found(run: RunConfig) -> set[str]:
    return {verdict.rule["id"] for verdict in check_run(run) if verdict.finding}


def test_flags_in_arrays_fill_the_fields_at_their_own_lines(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH}, **{CORE: "0.19.0"})
    assert run.framework == "megatron"
    assert (run.value("n_experts"), run.value("is_moe"), run.value("moe_top_k")) == (128, True, 8)
    assert run.value("gating_dtype") == "float32"
    assert (run.value("bf16"), run.value("model_dtype"), run.value("grad_accum_dtype")) == (True, "bfloat16", "float32")
    assert run.settings["train_batch_samples"].line == 8
    assert run.settings["train_batch_samples"].key == "--global-batch-size"
    assert run.value("learning_rate") == 1e-5
    assert run.unknown_keys == []


def test_the_layout_follows_from_the_launcher(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH}, **{CORE: "0.19.0"})
    assert (run.value("world_size"), run.value("data_parallel_size")) == (16, 8)
    assert run.value("expert_tensor_parallel") == 2  # unset: the tensor parallel size
    assert batch(run)["micro_steps"] == 4
    assert batch(run)["formula"]["micro_steps"] == "64 / (2 x 8 ranks)"


@pytest.mark.parametrize(
    ("version", "field", "value"),
    [
        ("0.12.0", "grad_clip", 1.0),
        ("0.19.0", "grad_clip", 1.0),
        ("0.17.1", "sharding_strategy", "no_shard"),
        ("0.18.0", "sharding_strategy", "optim_grads_params"),
        ("0.19.0", "checkpoint_format", "torch_dist"),
        ("0.19.0", "gradient_accumulation_fusion", True),  # --no-gradient-accumulation-fusion is not given
        ("0.19.0", "muon_split_qkv", True),
    ],
)
def test_defaults_are_those_of_the_release(run_of: RunOf, version: str, field: str, value: object) -> None:
    setting = run_of({"run.sh": LAUNCH}, **{CORE: version}).settings[field]
    assert (setting.value, setting.origin, setting.version) == (value, "default", f"Megatron-LM {version}")


def test_a_switch_that_turns_something_off(run_of: RunOf) -> None:
    text = LAUNCH.replace("--bf16 ", "--bf16 --no-gradient-accumulation-fusion ")
    setting = run_of({"run.sh": text}, **{CORE: "0.19.0"}).settings["gradient_accumulation_fusion"]
    assert (setting.value, setting.key) == (False, "--no-gradient-accumulation-fusion")


def test_both_spellings_of_a_dataclass_switch_are_known(run_of: RunOf) -> None:
    """From 0.16 on a bool that is on gets `--no-` and `--disable-`; before, only what was written out."""
    text = LAUNCH.replace("--no-masked-softmax-fusion", "--disable-barrier-with-level-1-timing")
    assert [row.key for row in run_of({"run.sh": text}, **{CORE: "0.19.0"}).unknown_keys] == [
        "--disable-barrier-with-level-1-timing"
    ]
    kept = LAUNCH.replace("--no-masked-softmax-fusion", "--no-barrier-with-level-1-timing")
    assert run_of({"run.sh": kept}, **{CORE: "0.19.0"}).unknown_keys == []


@pytest.mark.parametrize(
    ("flag", "version", "meant", "note"),
    [
        ("--clip_grad 0.5", "0.19.0", ["--clip-grad"], "unknown to every megatron-core release"),
        (
            "--use-custom-fsdp",
            "0.14.0",
            ["--use-megatron-fsdp"],
            "renamed to use-megatron-fsdp in megatron-core 0.14.0",
        ),
        ("--muon-momentum 0.95", "0.15.0", [], "added in megatron-core 0.16.0"),
        ("--moe-router-dtyp fp32", "0.19.0", ["--moe-router-dtype"], "unknown to every megatron-core release"),
    ],
)
def test_flags_that_argparse_refuses(run_of: RunOf, flag: str, version: str, meant: list[str], note: str) -> None:
    run = run_of({"run.sh": LAUNCH.replace("--lr 1e-5", f"--lr 1e-5 {flag}")}, **{CORE: version})
    (row,) = run.unknown_keys
    assert (row.key, row.line, row.fatal) == (flag.split()[0], 8, True)
    assert row.note.startswith(note)
    assert row.did_you_mean[: len(meant)] == meant


def test_options_of_other_programs_are_theirs(run_of: RunOf) -> None:
    text = LAUNCH.replace(
        "pretrain_gpt.py", "examples/multimodal/train.py --language-model-type mistral_7b --clipgrad 1"
    )
    keys = [row.key for row in run_of({"run.sh": text}, **{CORE: "0.19.0"}).unknown_keys]
    assert keys == ["--clipgrad"]  # one slip away from Megatron's own


def test_a_value_after_a_switch_and_one_that_is_no_choice(run_of: RunOf) -> None:
    text = LAUNCH.replace("--bf16 ", "--bf16 true ").replace("--optimizer adam", "--optimizer adamw")
    lints = {lint.rule: (lint.severity, lint.line) for lint in run_of({"run.sh": text}, **{CORE: "0.19.0"}).lints}
    assert lints == {"stray-argument": ("error", 8), "invalid-choice": ("error", 8)}


def test_model_args_in_yaml(run_of: RunOf) -> None:
    run = run_of({"model_config.yaml": GRPO}, world_size=8, **{CORE: "0.19.0"})
    assert run.framework == "megatron"
    assert run.settings["group_size"].key == "MODEL_ARGS.--grpo-group-size"
    assert run.env["CUDA_DEVICE_MAX_CONNECTIONS"].value == "1"
    assert run.value("learning_rate") == 1e-6  # YAML reads 1e-6 as text, argparse as a number
    assert run.value("partial_rollout") is True
    assert isinstance(run.settings["model"].value, Unresolved)
    assert run.settings["model"].value.names == ("CHECKPOINT_LOAD_PATH",)


def test_the_grpo_loop(run_of: RunOf) -> None:
    run = run_of({"model_config.yaml": GRPO}, world_size=8, **{CORE: "0.19.0"})
    assert (run.value("adv_estimator"), run.value("use_critic"), run.value("use_kl_loss")) == ("grpo", False, False)
    assert batch(run) == {
        "prompts_per_step": 32,
        "samples_per_step": 512,
        "optimizer_steps_per_rollout": 4,
        "samples_per_optimizer_step": 256,
        "tokens_per_step": 524288,
        "micro_steps": 64,
        "formula": {
            "samples_per_step": "32 x 16",
            "optimizer_steps_per_rollout": "512 x 2 / 256",
            "tokens_per_step": "256 x 2048",
            "micro_steps": "256 / (1 x 4 ranks)",
        },
    }


def test_without_the_loop_its_flags_mean_nothing(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH}, **{CORE: "0.19.0"})
    assert run.value("adv_estimator") is None
    assert "group_size" not in run.settings


def test_a_yaml_for_inference_is_no_training_run(run_of: RunOf) -> None:
    run = run_of({"model_config.yaml": GRPO.replace("MODE: rl", "MODE: inference")}, **{CORE: "0.19.0"})
    assert found(run) == set()
    assert "MODE: inference: Megatron's checks of training are not made" in run.notes


def test_what_the_checkpoint_holds_is_not_decided(run_of: RunOf) -> None:
    text = GRPO.replace(
        "  --bf16: true", "  --bf16: true\n  --use-checkpoint-args: true\n  --expert-model-parallel-size: 2"
    )
    run = run_of({"model_config.yaml": text}, world_size=8, **{CORE: "0.19.0"})
    assert isinstance(run.settings["n_experts"].value, Unresolved)
    assert "expert-parallel-without-experts" not in found(run)


def test_a_file_of_flags_without_a_launch_is_a_part(run_of: RunOf) -> None:
    text = 'OPTIONS="--tensor-model-parallel-size 2 --num-experts 64 --bf16 --num-layers 48 --micro-batch-size 1"\n'
    run = run_of({"model.sh": text}, **{CORE: "0.19.0"})
    assert (run.framework, run.value("n_experts")) == ("megatron", 64)
    assert run.partial
    assert "moe-tensor-parallel-without-sequence-parallel" not in found(run)  # --sequence-parallel may stand elsewhere


@pytest.mark.parametrize(
    ("version", "optimizer", "flags", "rules"),
    [
        ("0.16.1", "dist_muon", "--overlap-grad-reduce", {"muon-with-overlap"}),
        ("0.17.1", "dist_muon", "--overlap-grad-reduce", set()),
        ("0.17.1", "muon", "--use-distributed-optimizer", {"muon-with-distributed-optimizer"}),
        ("0.19.0", "muon", "--use-distributed-optimizer", set()),
        ("0.19.0", "muon", "--attention-output-gate", set()),
        ("0.18.0", "muon", "--attention-output-gate", {"megatron-4728"}),
        ("0.19.0", "muon", "--experimental-attention-variant gated_delta_net", {"megatron-5394", "megatron-5400"}),
    ],
)
def test_muon_by_release(run_of: RunOf, version: str, optimizer: str, flags: str, rules: set[str]) -> None:
    text = LAUNCH.replace("--optimizer adam", f"--optimizer {optimizer} {flags}")
    run = run_of({"run.sh": text}, **{CORE: version, "emerging-optimizers": "0.3.1"})
    muon = {verdict.rule["id"] for verdict in check_run(run, focus="muon") if verdict.finding}
    assert muon - {"muon-norm-clip-floor"} == rules
    assert ("muon-norm-clip-floor" in muon) is ("gated_delta_net" not in flags)


def test_attribute_names_in_a_data_file(run_of: RunOf) -> None:
    """`--yaml-cfg` and pasted settings name the attributes of the parsed arguments."""
    text = """language_model:
  num_layers: 30
  masked_softmax_fusion: false
model_parallel:
  tensor_model_parallel_size: 1
  pipeline_model_parallel_size: 4
  gradient_accumulation_fusion: false
  bf16: true
micro_batch_size: 2
global_batch_size: 128
clip_grad: 0.5
"""
    run = run_of({"gpt_config.yaml": text}, world_size=8, **{CORE: "0.19.0"})
    assert run.framework == "megatron"
    assert (run.value("grad_clip"), run.settings["grad_clip"].key, run.settings["grad_clip"].line) == (
        0.5,
        "clip_grad",
        11,
    )
    assert (run.value("bf16"), run.value("gradient_accumulation_fusion")) == (True, False)
    assert batch(run)["micro_steps"] == 32
    assert found(run) == {"layers-not-divisible-by-pipeline-stages"}


def test_variables_that_differ_are_alternatives(run_of: RunOf) -> None:
    text = (
        'SMALL="--num-layers 24 --micro-batch-size 4 --seq-length 2048 --bf16"\n'
        'LARGE="--num-layers 48 --micro-batch-size 1 --seq-length 2048 --bf16"\n'
    )
    run = run_of({"model.sh": text}, **{CORE: "0.19.0"})
    assert isinstance(run.settings["n_layers"].value, Unresolved)
    assert run.value("seq_length") == 2048
    assert run.lints == []
