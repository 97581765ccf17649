"""LLaMA-Factory: YAML with overrides; its own defaults above those of transformers; no GRPO."""

from __future__ import annotations

from typing import Any

from grpo_guard.configs.run_config import RunConfig

PPO = """
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: ppo
finetuning_type: lora
lora_rank: 16
reward_model: saves/reward
dataset: identity
template: qwen
output_dir: saves/ppo
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 1.0e-5
bf16: true
deepspeed: ds/z2.json
"""
DS = '{"zero_optimization": {"stage": 2, "overlap_comm": true}, "gradient_clipping": "auto"}'


def value(run: RunConfig, name: str) -> Any:
    return run.settings[name].value


def test_a_ppo_run_with_its_ds_config(run_of, tmp_path) -> None:
    (tmp_path / "ds").mkdir()
    (tmp_path / "ds" / "z2.json").write_text(DS)
    files = {
        "ppo.yaml": PPO,
        "run.sh": "FORCE_TORCHRUN=1 NPROC_PER_NODE=4 llamafactory-cli train ppo.yaml bf16=false\n",
    }
    run = run_of(files, "run.sh", llamafactory="0.9.3", transformers="4.52.4")
    expected = {
        "adv_estimator": "gae", "use_critic": True, "lora_rank": 16, "lora_alpha": 32, "zero_stage": 2,
        "overlap_comm": True, "world_size": 4, "train_batch_samples": 64, "bf16": False, "max_response_length": 1024,
    }  # fmt: skip
    assert {name: value(run, name) for name in expected} == expected
    assert run.unknown_keys == []


def test_there_is_no_grpo(run_of) -> None:
    run = run_of({"x.yaml": PPO.replace("stage: ppo", "stage: grpo")}, llamafactory="0.9.3")
    (lint,) = [lint for lint in run.lints if lint.rule == "invalid-choice"]
    assert (lint.severity, "stage=grpo" in lint.message) == ("error", True)
    assert any("no GRPO" in note for note in run.notes)


def test_an_unknown_key_stops_the_run(run_of) -> None:
    text = PPO + "lora_ranc: 8\n"
    (row,) = run_of({"ppo.yaml": text}, llamafactory="0.9.3", transformers="4.52.4").unknown_keys
    assert (row.key, row.did_you_mean[:1], row.fatal) == ("lora_ranc", ["lora_rank"], True)


def test_megatrons_arguments_are_left_alone(run_of) -> None:
    text = PPO.replace("stage: ppo", "stage: sft") + "tensor_model_parallel_size: 4\nmoe_grouped_gemm: true\n"
    assert run_of({"m.yaml": text}, llamafactory="0.9.4").unknown_keys == []


def test_the_arguments_of_ktransformers_are_left_alone(run_of) -> None:
    text = PPO.replace("stage: ppo", "stage: sft") + "use_kt: true\nkt_config:\n  kt_backend: AMX\n"
    assert run_of({"kt.yaml": text}, llamafactory="0.9.5").unknown_keys == []


def test_the_version_under_the_frameworks_name(run_of) -> None:
    run = run_of({"ppo.yaml": PPO + "lora_ranc: 8\n"}, **{"llama-factory": "0.9.3", "transformers": "4.52.4"})
    assert run.versions["llamafactory"] == "0.9.3"
    assert run.unknown_keys[0].fatal
