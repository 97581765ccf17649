"""The seeds' flat settings: every key that their tools and documents use, and nothing assumed for what is not said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grpo_guard.configs.adapters.common import Options, dtype
from grpo_guard.configs.adapters.seed import batch, build, claims
from grpo_guard.configs.json_text import read_json
from grpo_guard.configs.parts import Part
from grpo_guard.configs.reading import part_of_document
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Entry, Unresolved
from grpo_guard.validate import validate_text

VALIDATE_EXAMPLE = (
    '{"zero_stage":2,"gradient_clipping":1.0,"overlap_comm":false,"lora_rank":32,"fsdp_mode":"fsdp1","group_size":8}'
)
OPTIMAL_CONFIG = """{
  "zero_stage": 2,
  "optimizer": "cpu_adam",
  "gradient_clipping": 1.0,
  "overlap_comm": false,
  "lora_rank": 32,
  "fsdp_mode": "fsdp1",
  "group_size": 8,
  "bypass_mode": true,
  "enforce_eager": true,
  "use_critic": false,
  "ref_in_actor": true,
  "checkpoint_mode": "naive",
  "sleep_level": 1,
  "rollout_engine": "sglang",
  "model_dtype": "bf16",
  "gating_dtype": "fp32"
}"""
IMPLIED = {"adv_estimator": "grpo", "distillation": False}
# The keys of each tool with a value that says something
MATRIX_TOOL = (
    "framework training_backend rollout_engine optimizer clip_grad zero_stage overlap_comm fsdp_mode lora_rank "
    "group_size bypass ref_in_actor sleep_level checkpoint_mode shaped_rewards enforce_eager use_megatron use_muon "
    "use_dsa data_parallel_size ulimit"
)
MUON_TOOL = (
    "use_megatron optimizer clip_grad use_chained_optimizer skip_grad_norm_clip use_dsa use_gdn use_moe use_moe_zloss "
    "use_cuda_graph use_fsdp model_arch gradient_accumulation_steps data_parallel_size"
)
MOE_TOOL = (
    "use_moe model_dtype gating_dtype n_experts top_k model_size_b tp_size use_cuda_graph use_vllm use_sglang "
    "use_ascend enforce_eager quantization"
)
FSDP_TOOL = (
    "fsdp_mode num_gpus model_size_b use_lora lora_rank use_moe use_grpo use_bypass rollout_engine sleep_level "
    "clip_grad enforce_eager gradient_accumulation_steps group_size checkpoint_mode shaped_rewards host_ram_gb"
)
DOCUMENTED_LINE = (
    "trainer_mode rollout.n bypass_mode loss_type actor.strategy lora_rank enforce_eager checkpoint use_critic "
    "ref_in_actor gradient_clipping sleep_level free_cache_engine overlap_comm"
)
WORDS = {
    "optimizer": "muon", "training_backend": "deepspeed", "fsdp_mode": "fsdp2", "rollout_engine": "vllm",
    "checkpoint_mode": "naive", "checkpoint": "naive", "model_arch": "moe", "model_dtype": "fp16",
    "gating_dtype": "bf16", "quantization": "fp8", "framework": "verl", "actor.strategy": "fsdp",
    "trainer_mode": "sync", "loss_type": "ppo_clip",
}  # fmt: skip


def part(text: str) -> Part:
    return part_of_document(read_json(text, "config.json"))


def run_of(**settings: Any) -> RunConfig:
    return build([part(json.dumps(settings))], Options())


def explicit(run: RunConfig) -> dict[str, Any]:
    return {name: setting.value for name, setting in run.settings.items() if setting.origin == "explicit"}


def test_the_documented_validate_example() -> None:
    run = build([part(VALIDATE_EXAMPLE)], Options())
    assert explicit(run) == {
        "zero_stage": 2,
        "grad_clip": 1.0,
        "overlap_comm": False,
        "lora_rank": 32,
        "fsdp_version": 1,
        "group_size": 8,
    }
    assert run.unknown_keys == [] and run.lints == []
    assert run.settings["grad_clip"].key == "gradient_clipping"
    assert "sharding_backend" not in run.settings  # fsdp_mode and zero_stage name two engines


def test_the_documented_optimal_config() -> None:
    run = build([part(OPTIMAL_CONFIG)], Options())
    assert explicit(run) == {
        "zero_stage": 2,
        "optimizer": "cpu_adam",
        "offload_optimizer": "cpu",
        "grad_clip": 1.0,
        "overlap_comm": False,
        "lora_rank": 32,
        "fsdp_version": 1,
        "group_size": 8,
        "bypass_mode": True,
        "enforce_eager": True,
        "use_critic": False,
        "ref_in_actor": True,
        "weight_sync_backend": "naive",
        "sleep_level": 1,
        "rollout_engine": "sglang",
        "model_dtype": "bfloat16",
        "gating_dtype": "float32",
    }
    assert run.unknown_keys == [] and run.lints == []
    assert (run.settings["group_size"].file, run.settings["group_size"].line) == ("config.json", 8)


def test_an_empty_object_says_grpo_without_distillation_and_nothing_else() -> None:
    report = validate_text("{}", ruleset="seed")
    assert report.framework == "seed"
    assert {setting.field: setting.value for setting in report.settings} == IMPLIED
    assert report.findings == [] and report.summary["pass"] == 0


def test_pairs_are_the_same_settings() -> None:
    report = validate_text("zero_stage=3 | clip_grad=0.0 | rollout_engine=vLLM | overlap_comm=True")
    assert report.framework == "seed"
    assert {s.field: s.value for s in report.settings if s.origin == "explicit"} == {
        "zero_stage": 3,
        "grad_clip": 0.0,
        "rollout_engine": "vllm",
        "overlap_comm": True,
    }


@pytest.mark.parametrize("keys", [MATRIX_TOOL, MUON_TOOL, MOE_TOOL, FSDP_TOOL, DOCUMENTED_LINE])
def test_every_key_of_the_seeds_is_known(keys: str) -> None:
    entries = [Entry(key, WORDS.get(key, 1), "config.json", 1) for key in keys.split()]
    run = build([Part("json", "config.json", entries=entries, data={})], Options())
    assert run.unknown_keys == []
    assert [lint for lint in run.lints if lint.rule != "conflicting-keys"] == []


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"optimizer": "chained_muon_adam"}, {"optimizer": "muon", "chained_optimizer": True}),
        ({"optimizer": "cpu_muon"}, {"optimizer": "muon", "offload_optimizer": "cpu"}),
        ({"use_muon": True}, {"optimizer": "muon"}),
        ({"use_muon": False}, {}),
        ({"fsdp_mode": "fsdp2"}, {"sharding_backend": "fsdp2", "fsdp_version": 2}),
        ({"use_megatron": True}, {"sharding_backend": "megatron"}),
        ({"model_arch": "gdn_hybrid"}, {"use_gdn": True}),
        ({"use_cuda_graph": True}, {"enforce_eager": False}),
        ({"use_lora": False}, {"lora_rank": 0}),
        ({"use_ascend": True}, {"device": "npu"}),
        ({"top_k": 2}, {"moe_top_k": 2}),
        ({"num_gpus": 4}, {"world_size": 4}),
        (
            {"model_dtype": "torch.float16", "gating_dtype": "FP32"},
            {"model_dtype": "float16", "gating_dtype": "float32"},
        ),
        ({"zero_stage": "2", "overlap_comm": "True"}, {"zero_stage": 2, "overlap_comm": True}),
        ({"enforce_eager": 1}, {"enforce_eager": True}),
        ({"adv_estimator": "gae", "kl_coef": 0.01}, {"adv_estimator": "gae", "kl_coef": 0.01}),  # canonical names, too
    ],
)
def test_values_in_canonical_form(settings: dict[str, Any], fields: dict[str, Any]) -> None:
    run = run_of(**settings)
    assert explicit(run) == fields
    assert run.unknown_keys == [] and run.lints == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"zero_stage": "two"}, "zero_stage: 'two' is no number; the setting is taken as unknown."),
        (
            {"overlap_comm": "perhaps"},
            "overlap_comm: 'perhaps' is neither true nor false; the setting is taken as unknown.",
        ),
        ({"fsdp_mode": "fsdp3"}, "fsdp_mode: 'fsdp3' is none of fsdp, fsdp1, fsdp2; the setting is taken as unknown."),
    ],
)
def test_a_value_of_another_kind_is_reported_and_unknown(settings: dict[str, Any], message: str) -> None:
    run = run_of(**settings)
    assert [lint.message for lint in run.lints] == [message]
    assert all(isinstance(value, Unresolved) for value in explicit(run).values())


def test_two_names_of_one_setting_that_disagree() -> None:
    run = run_of(clip_grad=0.0, gradient_clipping=1.0)
    assert run.value("grad_clip") == 1.0
    [lint] = run.lints
    assert (lint.rule, lint.severity) == ("conflicting-keys", "warning")
    assert "clip_grad and gradient_clipping mean the same setting (grad_clip) and disagree: 0.0 and 1.0" in lint.message
    assert run_of(clip_grad=1.0, gradient_clipping=1.0).lints == []


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("grup_size", "group_size"),
        ("zero_stag", "zero_stage"),
        ("num_generations", "group_size"),
        ("max_grad_norm", "gradient_clipping"),
    ],
)
def test_unknown_keys_with_a_proposal(key: str, meant: str) -> None:
    [unknown] = run_of(**{key: 1}).unknown_keys
    assert (unknown.key, unknown.did_you_mean[0], unknown.fatal) == (key, meant, False)


def test_a_key_that_no_framework_has_is_noted() -> None:
    run = run_of(record_stream=True)
    assert run.notes == ["record_stream: no framework has such a setting, and no check reads it"]


def test_every_field_of_the_seeds_has_a_key_so_that_rules_stay_open() -> None:
    run = run_of()
    assert run.key_of("group_size") == "group_size" and run.key_of("grad_clip") == "gradient_clipping"
    assert run.key_of("optimizer") == "optimizer" and run.key_of("sharding_backend") == "training_backend"


def test_what_the_caller_states_wins() -> None:
    run = build([part('{"group_size": 8}')], Options(world_size=4, gpu="RTX 4090", settings={"group_size": 16}))
    assert (run.value("group_size"), run.value("world_size"), run.value("gpu")) == (16, 4, "RTX 4090")
    assert batch(run) == {}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("{}", 20),
        (VALIDATE_EXAMPLE, 85),
        ('{"group_size": 8, "learning_rat": 1}', 55),
        ('{"a": 1, "b": 2}', 5),
        ('{"zero_optimization": {"stage": 2}, "gradient_clipping": 1.0}', 0),
        ("[1, 2]", 0),
    ],
)
def test_who_is_claimed(text: str, score: int) -> None:
    assert claims(part(text)) == score


def test_flat_yaml_only_when_all_of_it_is_the_seeds() -> None:
    own = [Entry("zero_stage", 2, "c.yaml", 1), Entry("clip_grad", 1.0, "c.yaml", 2)]
    assert claims(Part("yaml", "c.yaml", entries=own)) == 60
    assert claims(Part("yaml", "c.yaml", entries=[*own, Entry("num_generations", 8, "c.yaml", 3)])) == 0


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("bf16", "bfloat16"),
        ("torch.bfloat16", "bfloat16"),
        ("half", "float16"),
        ("FP32", "float32"),
        ("fp8", "fp8"),
        (None, None),
    ],
)
def test_one_spelling_for_dtypes(written: Any, name: Any) -> None:
    assert dtype(written) == name
