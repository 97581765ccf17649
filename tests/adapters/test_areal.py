"""AReaL: a YAML over the dataclasses, Hydra overrides over the YAML, and the text that allocates GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_guard.configs.adapters.areal import batch, parse_allocation, world_size
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

from .conftest import RunOf

CONFIG = """
experiment_name: gsm8k
trial_name: t0
cluster: {n_nodes: 1, n_gpus_per_node: 8}
rollout: {backend: "sglang:d4p1t1", max_head_offpolicyness: 2}
gconfig: {n_samples: 4, max_new_tokens: 1024, temperature: 0.9}
actor:
  backend: "fsdp:d2c2"
  path: Qwen/Qwen2.5-1.5B-Instruct
  temperature: ${gconfig.temperature}
  kl_ctl: 0.0
  use_decoupled_loss: true
  reward_norm: {mean_level: group, group_size: "${gconfig.n_samples}"}
  optimizer: {lr: 1.7e-5}
sglang: {mem_fraction_static: 0.7}
train_dataset: {path: openai/gsm8k, type: rl, batch_size: 256, max_length: 1024}
"""


def known(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name, "unknown") for name in names}


@pytest.mark.parametrize(
    ("text", "pieces", "gpus"),
    [
        ("sglang:d4p1t1+fsdp:d4", [("sglang", {"d": 4, "p": 1, "t": 1}), ("fsdp", {"d": 4})], [4, 4]),
        ("sglang.d4p1t1+d4p1t1", [("sglang", {"d": 4, "p": 1, "t": 1}), ("fsdp", {"d": 4, "p": 1, "t": 1})], [4, 4]),
        (
            "vllm:d2t4 + megatron[actor]:d1p4t4",
            [("vllm", {"d": 2, "t": 4}), ("megatron", {"d": 1, "p": 4, "t": 4})],
            [8, 16],
        ),
        ("megatron:(attn:d2p2t4|ffn:d2p2e4)", [("megatron", {"d": 2, "p": 2, "t": 4, "e": 4, "et": 1})], [16]),
        ("fsdp:d4|fsdp[ref]:d4", [("fsdp", {"d": 4}), ("fsdp", {"d": 4})], [4, 4]),
        ("d2p2e2", [("megatron", {"d": 2, "p": 2, "e": 2})], [4]),
        ("nonsense", [], []),
        ("sglang:d4+", [], []),
        ("fsdp:d0", [], []),
    ],
)
def test_allocations(text: str, pieces: list[tuple[str, dict[str, int]]], gpus: list[int]) -> None:
    assert parse_allocation(text) == pieces
    assert [world_size(sizes) for _, sizes in pieces] == gpus


def test_a_config(run_of: RunOf) -> None:
    run = run_of({"gsm8k.yaml": CONFIG}, areal="2.0.0")
    expected = {
        "group_size": 4,
        "train_batch_prompts": 256,
        "n_mini_batches": 4,
        "actor_temperature": 0.9,
        "reward_norm_group": 4,
        "rollout_engine": "sglang",
        "rollout_engines": 4,
        "sharding_backend": "fsdp2",
        "world_size": 4,
        "data_parallel_size": 2,
        "context_parallel": 2,
        "learning_rate": 1.7e-5,
        "weight_decay": 0.01,  # default of a section that the file opens
        "gpu_memory_utilization": 0.7,
        "adv_estimator": "grpo",
        "use_critic": False,
        "ref_policy": False,
        "use_kl_in_reward": False,
        "async_training": True,
        "lora_rank": 0,
    }
    assert known(run, *expected) == expected
    assert run.settings["group_size"].line == 6
    assert run.keys["learning_rate"] == "actor.optimizer.lr"
    assert batch(run)["samples_per_gpu"] == 512


def test_a_section_that_nobody_opens_has_no_values(run_of: RunOf) -> None:
    text = CONFIG.replace('  reward_norm: {mean_level: group, group_size: "${gconfig.n_samples}"}\n', "")
    run = run_of({"gsm8k.yaml": text}, areal="2.0.0")
    assert known(run, "reward_norm_mean", "adv_estimator") == {"reward_norm_mean": None, "adv_estimator": "unknown"}


def test_defaults_by_version(run_of: RunOf) -> None:
    assert run_of({"gsm8k.yaml": CONFIG}, areal="0.4.0").value("weight_sync_backend") == "disk"
    assert run_of({"gsm8k.yaml": CONFIG}, areal="0.5.0").value("weight_sync_backend") == "xccl"


def test_an_override_of_a_key_that_the_file_lacks_needs_a_plus(run_of: RunOf) -> None:
    text = "python3 gsm8k_rl.py --config gsm8k.yaml gconfig.n_samples=16 actor.eps_clip=0.3 +actor.c_clip=3\n"
    run = run_of({"run.sh": text, "gsm8k.yaml": CONFIG}, "run.sh", areal="2.0.0")
    assert run.framework == "areal"
    assert known(run, "group_size", "dual_clip", "reward_norm_group") == {
        "group_size": 16,
        "dual_clip": 3,
        "reward_norm_group": 16,
    }
    (row,) = run.unknown_keys
    assert (row.key, row.did_you_mean, row.fatal) == ("actor.eps_clip", ["+actor.eps_clip"], True)


def test_a_launcher_in_front(run_of: RunOf) -> None:
    text = "python3 -m areal.launcher.local examples/math/gsm8k_grpo.py --config gsm8k.yaml gconfig.n_samples=8\n"
    assert run_of({"run.sh": text, "gsm8k.yaml": CONFIG}, "run.sh", areal="0.5.3").value("group_size") == 8


def test_removed_and_misspelt_keys(run_of: RunOf) -> None:
    text = CONFIG.replace("  kl_ctl: 0.0", "  kl_ctl: 0.0\n  behave_imp_weight_cap: 5.0\n  eps_clipp: 0.2")
    rows = run_of({"gsm8k.yaml": text}, areal="2.0.0").unknown_keys
    assert [(row.key, row.note, row.fatal) for row in rows] == [
        ("actor.behave_imp_weight_cap", "removed in areal 1.0.4", True),
        ("actor.eps_clipp", "unknown to every areal release from 0.3.1 to 2.0.0", False),
    ]
    assert rows[1].did_you_mean[0] == "actor.eps_clip"


def test_a_config_that_is_not_there(run_of: RunOf) -> None:
    text = "python3 -m areal.launcher.local x.py --config my.yaml gconfig.n_samples=8\n"
    run = run_of({"run.sh": text}, areal="0.5.3")
    assert run.value("group_size") == 8
    assert isinstance(run.settings["kl_coef"].value, Unresolved)


def test_supervised_configs_are_not_judged(run_of: RunOf) -> None:
    text = (
        "experiment_name: a\ntrial_name: b\nallocation_mode: d4\nactor: {mb_spec: {n_mbs: 1}}\ncluster: {n_nodes: 1}\n"
    )
    run = run_of({"sft.yaml": text}, areal="1.0.0")
    assert run.settings == {}
    assert "no config of an RL run" in run.notes[-1]
