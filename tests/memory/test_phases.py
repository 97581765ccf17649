"""What is on the GPU in which phase, by framework: the terms that decide, and what offload and sleep move."""

from __future__ import annotations

import pytest

from grpo_guard.memory.estimate import estimate

LORA = {"lora_rank": 32, "use_dynamic_bsz": True, "max_token_len_per_gpu": 3072}


def phases(**chosen) -> dict[str, dict[str, float]]:
    """phase -> term -> GiB"""
    data = estimate(**chosen)
    return {phase["name"]: {term["name"]: term["gib"] for term in phase["terms"]} for phase in data["phases"]}


def verl(**settings) -> dict[str, dict[str, float]]:
    return phases(model="Qwen2.5-7B-Instruct", gpu="H100", framework="verl", settings={**LORA, **settings})


def test_the_six_phases_stand_in_the_order_of_a_step():
    assert list(verl()) == ["load", "rollout", "weight sync", "log-prob", "update", "checkpoint"]


def test_verl_keeps_fp32_weights_unless_told_otherwise():
    assert verl()["update"]["trainer weights"] == pytest.approx(28.37, abs=0.01)
    assert verl(model_dtype="bfloat16")["update"]["trainer weights"] == pytest.approx(14.19, abs=0.01)


def test_verl_full_training_has_no_master_copy_beside_fp32_weights():
    full = phases(model="Qwen2.5-1.5B", gpu="H100", framework="verl")["update"]
    assert full["gradients"] == full["trainer weights"] == pytest.approx(5.75, abs=0.01)
    assert full["optimizer states"] == pytest.approx(2 * 5.75, abs=0.01)


def test_both_copies_are_there_in_the_sync_even_with_param_offload():
    sync = verl(model_dtype="bfloat16", offload_param=True)["weight sync"]
    assert sync["trainer weights"] == sync["rollout engine's weights"] == pytest.approx(14.19, abs=0.01)
    assert "trainer weights" not in verl(model_dtype="bfloat16", offload_param=True)["rollout"]


def test_the_offload_policy_never_has_the_trainers_copy_on_the_gpu():
    found = verl(offload_policy=True)
    assert not any("trainer weights" in terms or "optimizer states" in terms for terms in found.values())
    assert found["update"]["gathered layers"] > 0


def test_verl_optimizer_offload_brings_the_states_back_for_the_update():
    found = verl(offload_optimizer=True)
    assert "optimizer states" in found["update"]
    assert "optimizer states" not in found["rollout"]


@pytest.mark.parametrize(
    "engine, stays", [("vllm", False), ("sglang", True)], ids=["vllm moves them to the host", "sglang keeps them"]
)
def test_where_the_engines_weights_are_while_an_adapter_trains(engine, stays):
    assert ("rollout engine's weights" in verl(rollout_engine=engine)["update"]) is stays


def test_an_engine_that_never_sleeps_keeps_its_whole_share():
    awake = verl(free_cache_engine=False)["update"]
    assert awake["rollout engine's share"] == pytest.approx(0.5 * 80 * 0.98, abs=0.01)


def test_level_one_needs_the_engines_weights_in_host_memory_and_level_two_does_not():
    def host(**settings):
        data = estimate(model="Qwen2.5-7B", gpu="H100", framework="verl", settings=settings)
        return [row["name"] for row in data["host"]]

    assert "engine weights, asleep at level 1" in host(lora_rank=32)
    assert "engine weights, asleep at level 1" not in host(lora_rank=0)


def test_logits_are_tokens_times_vocabulary():
    found = estimate(model="Qwen2.5-7B", gpu="H100", framework="verl", settings=LORA)
    update = next(phase for phase in found["phases"] if phase["name"] == "update")
    logits = next(term for term in update["terms"] if term["name"] == "logits")
    assert logits["gib"] == pytest.approx(3072 * 152_064 * 8 / 1024**3, abs=0.001)
    assert logits["formula"] == "T = 3,072 x V = 152,064 x 8 B"


def test_a_fused_loss_never_holds_them_all():
    assert verl(use_fused_kernels=True)["update"]["logits (fused, by chunks)"] < verl()["update"]["logits"] / 2


def test_checkpointing_keeps_one_input_per_layer():
    with_it, without = verl(), verl(gradient_checkpointing=False)
    assert with_it["update"]["activations"] == pytest.approx(3072 * 28 * 3584 * 2 / 1024**3, abs=0.001)
    assert without["update"]["activations"] > 20 * with_it["update"]["activations"]


def test_sharding_divides_what_fsdp_shards_and_nothing_else():
    one, eight = verl(world_size=1), verl(world_size=8)
    assert eight["update"]["trainer weights"] == pytest.approx(one["update"]["trainer weights"] / 8, abs=0.01)
    assert eight["update"]["logits"] == one["update"]["logits"]
    assert eight["weight sync"]["rollout engine's weights"] == one["weight sync"]["rollout engine's weights"]


@pytest.mark.parametrize(
    "strategy, layered, there", [("fsdp", False, True), ("fsdp", True, False), ("fsdp2", False, False)]
)
def test_fsdp1_puts_the_whole_model_together_for_an_adapter(strategy, layered, there):
    config = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-8B "
        f"actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.actor.strategy={strategy} "
        f"actor_rollout_ref.rollout.layered_summon={layered} trainer.n_gpus_per_node=4 trainer.nnodes=1"
    )
    assert ("model summoned for the adapter" in phases(config=config, gpu="H100")["weight sync"]) is there


def test_a_default_number_of_gpus_is_said():
    config = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B algorithm.adv_estimator=grpo"
    assert "8 GPUs: the default of trainer.n_gpus_per_node" in estimate(config=config, gpu="H100")["assumptions"]


def test_rollout_tensor_parallel_divides_the_engines_copy():
    two = verl(world_size=8, rollout_tensor_parallel=2)["weight sync"]["rollout engine's weights"]
    assert two == pytest.approx(14.19 / 2, abs=0.01)


def test_trl_keeps_the_trainer_on_the_gpu_while_vllm_generates():
    found = phases(model="Qwen2.5-1.5B", framework="trl", settings={"model_dtype": "bfloat16"})
    assert {"trainer weights", "optimizer states", "rollout engine's share"} <= set(found["rollout"])


def test_trl_computes_logits_of_the_completion_only():
    text = (
        "model_name_or_path: Qwen/Qwen2.5-1.5B\nper_device_train_batch_size: 2\nmax_completion_length: 512\n"
        "use_vllm: true\nvllm_max_model_length: 2048\nnum_generations: 2\n"
    )
    update = phases(config=text, framework="trl")["update"]
    assert update["logits"] == pytest.approx(2 * 512 * 151_936 * 14 / 1024**3, abs=0.001)


def test_a_critic_is_a_model_with_states_of_its_own():
    with_critic = phases(model="Qwen2.5-1.5B", gpu="H100", framework="verl", settings={"use_critic": True})
    assert with_critic["update"]["critic"] == pytest.approx(16 * 1.5437 / 1.0737, abs=0.05)


def test_a_reference_of_its_own_is_needed_for_full_training_only():
    def update(**settings):
        return phases(model="Qwen2.5-1.5B", gpu="H100", framework="verl", settings={"ref_policy": True, **settings})[
            "update"
        ]

    assert update()["reference model"] == pytest.approx(5.75, abs=0.01)
    assert "reference model" not in update(lora_rank=32)


@pytest.mark.parametrize(
    "stage, ranks, gib",
    [(0, 8, 16), (1, 8, 4 + 12 / 8), (2, 8, 2 + 14 / 8), (3, 8, 16 / 8)],
)
def test_openrlhf_divides_by_zero_stage(stage, ranks, gib):
    settings = {"zero_stage": stage, "world_size": ranks, "kl_coef": 0.0}
    update = phases(model="Qwen2.5-1.5B", gpu="H100", framework="openrlhf", settings=settings)["update"]
    states = update["trainer weights"] + update["gradients"] + update["optimizer states"]
    assert states == pytest.approx(gib * 1_543_714_304 / 1024**3, abs=0.01)


def test_cpu_adam_takes_states_off_the_gpu_and_puts_them_on_the_host():
    settings = {"zero_stage": 2, "offload_optimizer": True}
    data = estimate(model="Qwen2.5-1.5B", framework="openrlhf", settings=settings)
    update = next(phase for phase in data["phases"] if phase["name"] == "update")
    assert "optimizer states" not in {term["name"] for term in update["terms"]}
    assert {row["name"]: row["gib"] for row in data["host"]}["optimizer states, offloaded"] == pytest.approx(
        17.25, abs=0.01
    )


def test_every_term_has_a_formula_a_source_and_an_error():
    data = estimate(model="Qwen3-30B-A3B", gpu="H200", framework="verl", settings=LORA)
    terms = [term for phase in data["phases"] for term in phase["terms"]]
    assert all(term["formula"] and term["source"] and 0 <= term["error"] <= 1 for term in terms)
    assert data["error_band"]["low"] < data["peak_gib"] < data["error_band"]["high"]


def test_a_phase_is_the_sum_of_its_terms():
    data = estimate(model="Qwen3-8B", gpu="H100", framework="verl", settings=LORA)
    for phase in data["phases"]:
        assert phase["total_gib"] == pytest.approx(sum(term["gib"] for term in phase["terms"]), abs=0.02)
    assert data["peak_gib"] == max(phase["total_gib"] for phase in data["phases"])
