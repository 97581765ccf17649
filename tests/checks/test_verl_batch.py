"""verl's batch table and arithmetic: the numbers in the answer, and where trainer generations differ."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_guard.checks import verl_batch, verl_parallel
from grpo_guard.checks.outcome import Hit, NotApplicable, Pass, Unknown
from grpo_guard.configs.adapters.verl_batch import batch
from grpo_guard.configs.run_config import DEFAULT, EXPLICIT, RunConfig, Setting
from grpo_guard.configs.values import Unresolved

SIXTY_FOUR_BY_EIGHT: dict[str, Any] = {
    "train_batch_prompts": 64,
    "mini_batch_prompts": 16,
    "group_size": 8,
    "ppo_epochs": 2,
    "micro_batch_per_gpu": 4,
    "logprob_micro_batch_per_gpu": 8,
    "use_dynamic_bsz": False,
    "max_prompt_length": 512,
    "max_response_length": 1024,
    "world_size": 8,
    "data_parallel_size": 8,
    "sharding_backend": "fsdp2",
    "sequence_parallel": 1,
}


def run_of(version: str | None = None, /, **changes: Any) -> RunConfig:
    """The run above with changes; the first argument fixes verl's release."""
    run = RunConfig("verl", versions={"verl": version} if version else {})
    for name, value in {**SIXTY_FOUR_BY_EIGHT, **changes}.items():
        run.settings[name] = Setting(name, f"native.{name}", value, EXPLICIT, "run.sh", 3)
    return run


def test_table_counts_prompts_samples_tokens_and_steps() -> None:
    assert batch(run_of()) == {
        "prompts_per_step": 64,
        "samples_per_step": 512,
        "tokens_per_step": 786_432,
        "samples_per_gpu": 64,
        "samples_per_optimizer_step": 128,
        "mini_batches": 4,
        "optimizer_steps_per_rollout": 8,
        "micro_steps": 4,
        "formula": {
            "samples_per_step": "64 prompts x 8",
            "tokens_per_step": "512 x (512 + 1024)",
            "samples_per_gpu": "512 / 8 data-parallel ranks",
            "samples_per_optimizer_step": "16 prompts x 8",
            "mini_batches": "64 / 16 prompts",
            "optimizer_steps_per_rollout": "4 x 2 epochs",
            "micro_steps": "128 / (8 ranks x 4)",
        },
    }


def test_table_leaves_out_what_is_not_known() -> None:
    run = run_of(group_size=Unresolved("$N", ("N",)), max_response_length=Unresolved("$LEN", ("LEN",)))
    assert batch(run) == {
        "prompts_per_step": 64,
        "mini_batches": 4,
        "optimizer_steps_per_rollout": 8,
        "formula": {"mini_batches": "64 / 16 prompts", "optimizer_steps_per_rollout": "4 x 2 epochs"},
    }


def test_table_of_token_packed_batches_has_no_micro_steps() -> None:
    assert "micro_steps" not in batch(run_of(use_dynamic_bsz=True))


def test_fully_asynchronous_run_has_no_table() -> None:
    assert batch(run_of(train_batch_prompts=0)) == {}


def test_samples_that_gpus_do_not_divide() -> None:
    outcome = verl_batch.train_batch_divides(run_of(train_batch_prompts=61, group_size=4))
    assert outcome == Hit(
        "train_batch_prompts",
        "{train_batch_prompts.key}=61 x {group_size.key}=4 gives 244 samples, which 8 GPUs do not divide; "
        "verl stops at start-up (real_train_batch_size must be divisible).",
        "Set {train_batch_prompts.key}=62 (62 x 4 = 248).",
        {"train_batch_prompts": 62},
    )


def test_megatron_counts_ranks_times_micro_batch() -> None:
    run = run_of(sharding_backend="megatron", data_parallel_size=2, micro_batch_per_gpu=6, group_size=5)
    outcome = verl_batch.train_batch_divides(run)
    assert isinstance(outcome, Hit)
    assert "2 data-parallel ranks x micro-batch 6 = 12" in outcome.message
    assert outcome.edits == {"train_batch_prompts": 72}


def test_dynamic_batching_is_not_held_to_the_gpu_count() -> None:
    run = run_of(train_batch_prompts=61, group_size=4, use_dynamic_bsz=True)
    assert isinstance(verl_batch.train_batch_divides(run), NotApplicable)


def test_a_program_with_its_own_start_up_is_not_held_to_verls_checks() -> None:
    run = run_of(train_batch_prompts=8, mini_batch_prompts=128)
    assert isinstance(verl_batch.train_batch_covers_mini_batch(run), Hit)
    run.derive("program", "verl.experimental.vla.main_ppo", "the launch command")
    assert isinstance(verl_batch.train_batch_covers_mini_batch(run), NotApplicable)


def test_default_mini_batch_is_named_as_a_default() -> None:
    run = run_of()
    run.settings["mini_batch_prompts"] = Setting("mini_batch_prompts", "mini", 256, DEFAULT, version="verl 0.9.1")
    outcome = verl_batch.train_batch_covers_mini_batch(run)
    assert isinstance(outcome, Hit)
    assert "(the default of verl 0.9.1)" in outcome.message


@pytest.mark.parametrize(
    ("version", "mini", "group", "expected"),
    [
        ("0.9.0", 20, 5, Hit),  # 100 samples over 8 ranks: the unified engine asserts
        ("0.7.1", 20, 5, Pass),  # the legacy worker rounds down to 12
        ("0.7.1", 1, 5, Hit),  # 5 samples over 8 ranks: none left
        (None, 20, 5, Unknown),  # the generations disagree
        (None, 1, 5, Hit),  # both refuse it
        (None, 16, 8, Pass),
    ],
)
def test_mini_batch_over_ranks_by_generation(version: str | None, mini: int, group: int, expected: type) -> None:
    run = run_of(version, mini_batch_prompts=mini, group_size=group)
    assert isinstance(verl_batch.mini_batch_divides_over_ranks(run), expected)


@pytest.mark.parametrize(
    ("version", "backend", "dynamic", "expected"),
    [
        ("0.9.0", "fsdp", False, Hit),
        ("0.9.0", "fsdp", True, NotApplicable),
        ("0.7.1", "fsdp", True, Hit),  # asserted whatever the batching
        ("0.7.1", "megatron", False, Pass),  # splits unevenly
        ("0.9.0", "megatron", False, Hit),
        (None, "megatron", False, Unknown),
        (None, "fsdp", False, Hit),
    ],
)
def test_micro_batch_in_mini_batch_by_generation(
    version: str | None, backend: str, dynamic: bool, expected: type
) -> None:
    run = run_of(version, sharding_backend=backend, use_dynamic_bsz=dynamic, micro_batch_per_gpu=12)
    assert isinstance(verl_batch.micro_batch_divides_mini_batch(run), expected)


def test_legacy_worker_switched_off_runs_the_unified_engine() -> None:
    run = run_of("0.7.1", mini_batch_prompts=20, group_size=5, use_legacy_worker="disable")
    assert isinstance(verl_batch.mini_batch_divides_over_ranks(run), Hit)


def test_largest_micro_batch_that_divides_is_proposed() -> None:
    outcome = verl_batch.micro_batch_divides_mini_batch(run_of("0.9.0", micro_batch_per_gpu=12))
    assert isinstance(outcome, Hit)
    assert outcome.edits == {"micro_batch_per_gpu": 8}  # 16 samples a rank


def test_log_prob_micro_batch_against_the_padded_batch_of_the_v1_trainer() -> None:
    # 24 prompts x 8 = 192 samples; the V1 trainer pads to whole mini-batches: 256, 32 a rank
    changes = {"train_batch_prompts": 24, "logprob_micro_batch_per_gpu": 16}
    padded = run_of("0.9.0", **changes, use_v1_trainer=True)
    assert isinstance(verl_batch.log_prob_micro_batch_divides_batch(padded), Pass)
    exact = run_of("0.8.0", **changes)
    outcome = verl_batch.log_prob_micro_batch_divides_batch(exact)
    assert isinstance(outcome, Hit)
    assert outcome.edits == {"logprob_micro_batch_per_gpu": 12}


@pytest.mark.parametrize(("split", "expected"), [(1, Hit), (2, Pass)])
def test_token_budget_is_shared_by_a_sequence_parallel_group(split: int, expected: type) -> None:
    run = run_of(
        "0.7.1", use_dynamic_bsz=True, logprob_use_dynamic_bsz=True, max_token_len_per_gpu=1024,
        logprob_max_token_len_per_gpu=1024, sequence_parallel=split,
    )  # fmt: skip
    assert isinstance(verl_batch.token_budget_holds_padded_sequence(run), expected)
    assert isinstance(verl_batch.token_budget_holds_longest_sequence(run), NotApplicable)


def test_unset_gpus_are_named_as_what_is_needed() -> None:
    run = run_of()
    for name in ("world_size", "data_parallel_size"):
        del run.settings[name]
    run.settings["nnodes"] = Setting("nnodes", "trainer.nnodes", Unresolved("$NODES", ("NODES",)), EXPLICIT)
    run.settings["n_gpus"] = Setting("n_gpus", "trainer.n_gpus_per_node", 8, EXPLICIT)
    assert verl_batch.train_batch_divides(run) == Unknown(frozenset({"nnodes"}))


def test_rollout_engine_over_gpus() -> None:
    outcome = verl_parallel.rollout_parallel_divides(run_of(rollout_tensor_parallel=3, rollout_data_parallel=1))
    assert isinstance(outcome, Hit)
    assert outcome.edits == {"rollout_tensor_parallel": 2}
    assert isinstance(verl_parallel.rollout_parallel_divides(run_of(rollout_tensor_parallel=4)), Pass)


def test_rollout_with_gpus_of_its_own_is_left_alone() -> None:
    run = run_of(rollout_tensor_parallel=3, trainer_mode="separate_async")
    assert isinstance(verl_parallel.rollout_parallel_divides(run), NotApplicable)


def test_unset_expert_tensor_parallel_takes_the_dense_one() -> None:
    sizes = {"tensor_parallel": 4, "pipeline_parallel": 1, "context_parallel": 1, "expert_parallel": 4}
    run = run_of(sharding_backend="megatron", **sizes, expert_tensor_parallel=None)
    outcome = verl_parallel.megatron_parallel_divides(run)
    assert isinstance(outcome, Hit)
    assert "= 16 (expert_tensor_parallel_size unset takes the tensor parallel size)" in outcome.message
    run = run_of(sharding_backend="megatron", **sizes, expert_tensor_parallel=1)
    assert isinstance(verl_parallel.megatron_parallel_divides(run), Pass)


def test_a_trainer_of_its_own_may_count_its_mini_batch_otherwise() -> None:
    uneven = {"train_batch_prompts": 8, "mini_batch_prompts": 128}
    check = verl_batch.train_batch_is_multiple_of_mini_batch
    assert isinstance(check(run_of("0.8.0", **uneven)), Hit)
    assert isinstance(check(run_of("0.8.0", **uneven, program="verl.experimental.vla.main_ppo")), NotApplicable)
