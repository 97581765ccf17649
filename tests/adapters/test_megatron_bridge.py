"""Megatron-Bridge: overrides, YAML and Python recipes over its ConfigContainer; what the recipe sets is not known."""

from __future__ import annotations

from pathlib import Path

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.adapters.megatron_bridge import batch
from grpo_guard.configs.assembly import build_runs
from grpo_guard.configs.reading import read_path
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

from .conftest import RunOf

BRIDGE = "megatron-bridge"
LAUNCH = """#!/bin/bash
uv run python -m torch.distributed.run --nproc_per_node=8 scripts/training/run_recipe.py \\
    --recipe qwen3_30b_a3b_pretrain_config -gb 256 \\
    train.global_batch_size=128 train.micro_batch_size=2 model.tensor_model_parallel_size=2 \\
    model.pipeline_model_parallel_size=1 model.context_parallel_size=1 model.seq_length=4096 \\
    optimizer.lr=3e-5 ddp.overlap_param_gather=true ddp.overlap_grad_reduce=false mixed_precision=bf16_mixed
"""
YAML = """train:
  train_iters: 100
  global_batch_size: 8
  micro_batch_size: 1
optimizer:
  finetune_lr: 0.000005
  min_lr: 0.000005
checkpoint:
  save: ./checkpoints
  save_interval: 50
peft:
  dim: 8
  alpha: 16
"""
RECIPE = """from megatron.bridge.training.config import ConfigContainer, OptimizerConfig

def pretrain_config() -> ConfigContainer:
    cfg = _pretrain_common()
    cfg.model.tensor_model_parallel_size = 2
    cfg.train.global_batch_size = 16 * 32
    cfg.train.micro_batch_size = micro
    cfg.scheduler.max_lr = 5e-6
    cfg.optimizer = OptimizerConfig(optimizer="muon", lr=3e-4, clip_grad=1.0)
    return cfg

def finetune_config() -> ConfigContainer:
    cfg = pretrain_config()
    cfg.train.train_iters = 10
    cfg.train.global_batch_size = 64
    cfg.model.context_parallel_size = 2
    return cfg
"""


def found(run: RunConfig) -> set[str]:
    return {verdict.rule["id"] for verdict in check_run(run) if verdict.finding}


def test_overrides_win_over_the_short_options(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH}, **{BRIDGE: "0.6.0"})
    assert run.framework == "megatron-bridge"
    assert (run.value("train_batch_samples"), run.settings["train_batch_samples"].line) == (128, 4)
    assert (run.value("world_size"), run.value("data_parallel_size")) == (8, 4)
    assert (run.value("bf16"), run.value("fp16")) == (True, False)
    assert batch(run)["micro_steps"] == 16
    assert run.versions["megatron-core"] == "0.19.0"


def test_what_only_the_arguments_of_megatron_assert_is_no_fault_here(run_of: RunOf) -> None:
    """Bridge builds Megatron's configs itself and never runs megatron/training/arguments.py."""
    assert "overlap-param-gather-without-grad-reduce" not in found(run_of({"run.sh": LAUNCH}, **{BRIDGE: "0.6.0"}))


def test_what_is_not_written_is_the_recipes(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH.replace(" ddp.overlap_grad_reduce=false", "")}, **{BRIDGE: "0.6.0"})
    assert isinstance(run.settings["overlap_grad_reduce"].value, Unresolved)
    assert "overlap-param-gather-without-grad-reduce" not in found(run)


def test_an_unknown_override_stops_the_run(run_of: RunOf) -> None:
    run = run_of({"run.sh": LAUNCH.replace("train.micro_batch_size", "train.micro_batch")}, **{BRIDGE: "0.6.0"})
    (row,) = run.unknown_keys
    assert (row.key, row.did_you_mean[0], row.fatal) == ("train.micro_batch", "train.micro_batch_size", True)


def test_an_unknown_key_of_a_yaml_has_no_effect(run_of: RunOf) -> None:
    run = run_of({"sft.yaml": YAML}, **{BRIDGE: "0.6.0"})
    (row,) = run.unknown_keys
    assert (row.key, row.line, row.fatal) == ("optimizer.finetune_lr", 6, False)
    assert row.note.endswith("it has no effect")
    assert (run.value("lora_rank"), run.value("lora_alpha")) == (8, 16)


def test_each_recipe_of_a_python_file_is_a_run(tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text(RECIPE)
    runs = build_runs(read_path(tmp_path / "recipes.py"), Options(versions={BRIDGE: "0.4.2"}))
    assert [run.value("train_batch_samples") for run in runs] == [512, 64]
    first = runs[0]
    assert (first.value("optimizer"), first.settings["optimizer"].line) == ("muon", 9)
    assert isinstance(first.settings["micro_batch_per_gpu"].value, Unresolved)
    assert [row.key for row in first.unknown_keys] == ["scheduler.max_lr"]
    assert "muon-norm-clip-floor" in found(first)


def test_what_a_branch_assigns_is_not_decided_and_a_second_value_wins(tmp_path: Path) -> None:
    branch = "    if long:\n        cfg.train.micro_batch_size = 1\n"
    again = "    cfg.model.tensor_model_parallel_size = 4\n    return cfg\n"
    (tmp_path / "recipes.py").write_text(RECIPE.replace("    return cfg\n", branch + again, 1))
    run = build_runs(read_path(tmp_path / "recipes.py"), Options(versions={BRIDGE: "0.4.2"}))[0]
    assert run.value("tensor_parallel") == 4
    assert run.settings["micro_batch_per_gpu"].value == Unresolved("1", ("a branch of the recipe",))
    assert run.lints == []
