"""EasyR1 and rLLM: frameworks on top of verl's ideas or of verl itself."""

import pytest

from grpo_guard.configs.keys import load
from grpo_guard.configs.values import Unresolved


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.3.0", "worker.actor.padding_free", False),
        ("0.3.1", "worker.actor.padding_free", True),
        ("0.3.2", "worker.actor.global_batch_size", 256),
        ("0.3.2", "worker.actor.max_grad_norm", 1.0),
        ("0.3.2", "algorithm.adv_estimator", "grpo"),
        ("0.3.3.dev0", "worker.actor.model.lora.rank", 0),
        ("0.3.3.dev0", "worker.rollout.n", 1),
    ],
)
def test_easyr1_dataclass_defaults(version, key, default):
    assert load("easyr1", ["PPOConfig"], version).default(key) == default


def test_easyr1_example_file_lies_above_the_dataclasses():
    table = load("easyr1", ["examples_config", "PPOConfig"], "0.3.3.dev0")
    assert table.default("worker.actor.global_batch_size") == 128
    assert table.default("worker.rollout.n") == 5
    assert table.default("worker.actor.clip_ratio_high") == 0.3  # not in the file


def test_easyr1_renamed_key():
    note = load("easyr1", ["PPOConfig"], "0.3.2").explain_unknown("worker.actor.ulysses_sequence_parallel_size").note
    assert note == "renamed to worker.actor.ulysses_size in easyr1 0.3.1"


def test_rllm_lies_on_the_verl_it_pins():
    pinned = load("rllm", ["requires"], "0.3.0.pre0").default("verl")
    assert pinned == "0.7.1"
    verl = load("verl", ["ppo_trainer"], pinned)
    table = load("rllm", ["unified_verl"], "0.3.0.pre0", below=verl)
    assert table.default("rllm.compact_filtering.enable") is False
    assert table.default("actor_rollout_ref.rollout.mode") == "async"
    assert table.default("actor_rollout_ref.actor.grad_clip") == 1.0  # verl's
    assert isinstance(table.resolved_default("data.gen_batch_size"), Unresolved)  # a resolver of rLLM's own


def test_rllm_main_branch():
    table = load("rllm", ["unified_verl"], None)
    assert table.default("rllm.rollout.n") == 8
    assert table.default("rllm.algorithm.kl_beta") == 0.0
    assert table.default("rllm.algorithm.rollout_correction.bypass_mode") is False  # null in base.yaml, set for verl
    assert load("rllm", ["unified_tinker"], None).required("training.group_size")


def test_an_interpolation_may_name_a_section_of_the_table_below():
    verl = load("verl", ["ppo_megatron_trainer"], "0.8.0")
    table = load("rllm", ["agent_ppo_trainer_megatron"], None, below=verl)
    found = table.resolved_default("actor_rollout_ref.ref.megatron.override_transformer_config")
    assert found["attention_backend"] == "flash"  # from the actor's section
