"""axolotl: its YAML as the TRL run that it becomes, at the TRL release that it pins, under its own keys."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_guard.configs.adapters.axolotl import batch
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

GRPO = """
base_model: Qwen/Qwen2.5-7B-Instruct
rl: grpo
trl:
  beta: 0.001
  num_generations: 8
  max_completion_length: 1024
  use_vllm: true
  reward_funcs: [rewards.accuracy]
vllm:
  gpu_memory_utilization: 0.85
adapter: qlora
load_in_4bit: true
lora_r: 32
lora_alpha: 64
micro_batch_size: 8
gradient_accumulation_steps: 2
learning_rate: 1.0e-5
bf16: true
deepspeed: ds/zero3.json
"""
DS = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}'


def value(run: RunConfig, name: str) -> Any:
    return run.settings[name].value


def test_settings_under_axolotls_keys_at_the_pinned_trl(run_of, tmp_path) -> None:
    (tmp_path / "ds").mkdir()
    (tmp_path / "ds" / "zero3.json").write_text(DS)
    run = run_of({"grpo.yaml": GRPO}, world_size=4, axolotl="0.18.0")
    assert run.versions == {"axolotl": "0.18.0", "trl": "1.8.0", "transformers": "5.14.1", "accelerate": "1.13.0"}
    expected = {
        "adv_estimator": "grpo", "group_size": 8, "kl_coef": 0.001, "max_response_length": 1024, "lora_rank": 32,
        "quantization": "int4", "micro_batch_per_gpu": 8, "gradient_accumulation": 2, "zero_stage": 3,
        "model_dtype": "bfloat16", "autocast_dtype": "bfloat16", "rollout_mode": "server", "eval_strategy": "no",
    }  # fmt: skip
    assert {name: value(run, name) for name in expected} == expected
    group = run.settings["group_size"]
    assert (group.key, group.file, group.line) == ("trl.num_generations", "grpo.yaml", 6)


@pytest.mark.parametrize(
    ("field", "key", "default", "version"),
    [
        ("clip_ratio", "trl.epsilon", 0.2, "trl 1.8.0"),
        ("loss_type", "trl.loss_type", "dapo", "trl 1.8.0"),
        ("temperature", "trl.temperature", 1.0, "trl 1.8.0"),
        ("weight_decay", "weight_decay", 0.0, "axolotl 0.18.0"),
        ("mask_truncated", "trl.mask_truncated_completions", False, "axolotl 0.18.0"),
        ("grad_clip", "max_grad_norm", 1.0, "transformers 5.14.1"),
    ],
)
def test_defaults_are_axolotls_then_trls(run_of, field: str, key: str, default: Any, version: str) -> None:
    text = GRPO.replace("deepspeed: ds/zero3.json\n", "")
    setting = run_of({"grpo.yaml": text}, world_size=4, axolotl="0.18.0").settings[field]
    assert (setting.key, setting.value, setting.origin, setting.version) == (key, default, "default", version)


def test_the_loss_of_an_older_release(run_of) -> None:
    text = GRPO.replace("deepspeed: ds/zero3.json\n", "")
    assert value(run_of({"grpo.yaml": text}, axolotl="0.12.2"), "loss_type") == "bnpo"  # TRL 0.21.0


def test_batch(run_of) -> None:
    text = GRPO.replace("deepspeed: ds/zero3.json\n", "")
    table = batch(run_of({"grpo.yaml": text}, world_size=4, axolotl="0.18.0"))
    assert (table["samples_per_step"], table["prompts_per_step"]) == (64, 8)


def test_processes_on_the_command_line(run_of) -> None:
    text = GRPO.replace("deepspeed: ds/zero3.json\n", "")
    lines = (
        "axolotl train grpo.yaml --num-processes 8",
        "axolotl train grpo.yaml --launcher torchrun -- --nproc_per_node=8",
        "accelerate launch --num_processes 8 -m axolotl.cli.train grpo.yaml",
    )
    for line in lines:
        run = run_of({"grpo.yaml": text, "run.sh": line + "\n"}, "run.sh", axolotl="0.18.0")
        assert (run.framework, value(run, "world_size")) == ("axolotl", 8), line
    over = run_of({"grpo.yaml": text, "run.sh": "axolotl train grpo.yaml --micro-batch-size=16\n"}, "run.sh")
    assert value(over, "micro_batch_per_gpu") == 16


def test_unknown_keys_are_dropped_silently_and_told(run_of) -> None:
    text = GRPO + "context_parapllel_size: 2\n"
    (row,) = run_of({"grpo.yaml": text}, axolotl="0.18.0").unknown_keys
    assert (row.key, row.did_you_mean, row.fatal) == ("context_parapllel_size", ["context_parallel_size"], False)
    foreign = text + "plugins: [my_company.plugin.Plugin]\n"
    assert run_of({"grpo.yaml": foreign}, axolotl="0.18.0").unknown_keys == []


def test_precision_by_the_hardware_is_open(run_of) -> None:
    text = GRPO.replace("bf16: true", "bf16: auto").replace("deepspeed: ds/zero3.json\n", "")
    run = run_of({"grpo.yaml": text}, axolotl="0.18.0")
    assert isinstance(value(run, "bf16"), Unresolved)


def test_another_trainer_has_only_its_names_checked(run_of) -> None:
    run = run_of({"dpo.yaml": GRPO.replace("rl: grpo", "rl: dpo") + "lora_ranc: 3\n"}, axolotl="0.18.0")
    assert "group_size" not in run.settings
    assert [row.key for row in run.unknown_keys] == ["lora_ranc"]
    assert any("rl: dpo" in note for note in run.notes)
