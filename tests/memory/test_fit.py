"""What would make a run fit: the edits that are proposed are applied to the config, and then it must fit."""

from __future__ import annotations

import time

import pytest
import yaml

from grpo_guard.memory.estimate import estimate

VERL = """python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\
  actor_rollout_ref.model.path=Qwen/{model} {lora} \\
  actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu={tokens} \\
  actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 \\
  actor_rollout_ref.rollout.tensor_model_parallel_size=1 \\
  actor_rollout_ref.rollout.gpu_memory_utilization={share} \\
  data.max_prompt_length=512 data.max_response_length=1024 data.train_batch_size=16 \\
  trainer.n_gpus_per_node={gpus} trainer.nnodes=1"""
LORA = "actor_rollout_ref.model.lora_rank=32"


def verl(model="Qwen2.5-1.5B-Instruct", lora=LORA, tokens=3072, share=0.5, gpus=1, more="") -> str:
    return VERL.format(model=model, lora=lora, tokens=tokens, share=share, gpus=gpus) + more


def with_edits(config: str, edits: list[dict]) -> str:
    return config + "".join(f" \\\n  {edit['key']}={edit['value']}" for edit in edits)


def test_a_run_that_fits_needs_no_change():
    data = estimate(config=verl(), gpu="4090")
    assert (data["fits"], data["failing"], data["smallest_changes"]) == (True, [], [])


@pytest.mark.parametrize(
    "config, gpu",
    [
        (verl(model="Qwen3-4B"), "4090"),
        (verl(model="Qwen2.5-7B-Instruct"), "4090"),
        (verl(model="Qwen2.5-7B-Instruct", share=0.3), "4090"),
        (verl(tokens=32_768), "4090"),
        (verl(model="Qwen2.5-7B-Instruct", lora="", gpus=4), "A100 40GB"),
        (verl(model="Qwen3-8B", lora="", gpus=2), "H100"),
    ],
    ids=["4B", "7B", "7B and a small share", "long micro-batches", "full training on 4", "full training on 2"],
)
def test_the_edits_that_are_proposed_make_it_fit(config, gpu):
    before = estimate(config=config, gpu=gpu)
    assert not before["fits"]
    sets = [proposal for proposal in before["smallest_changes"] if proposal["edits"]]
    assert sets
    for proposal in sets:
        after = estimate(config=with_edits(config, proposal["edits"]), gpu=gpu)
        assert after["fits"], (proposal, after["failing"])
        assert after["peak_gib"] == pytest.approx(proposal["peak_gib"], abs=0.6)


TRL = {
    "model_name_or_path": "Qwen/Qwen2.5-3B-Instruct", "dtype": "bfloat16", "num_generations": 8, "use_vllm": True,
    "per_device_train_batch_size": 8, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.3, "beta": 0.04,
    "max_completion_length": 1024, "vllm_max_model_length": 2048,
}  # fmt: skip


@pytest.mark.parametrize(
    "more, gpu",
    [({}, "4090"), ({}, "A100 40GB"), ({"use_peft": True, "lora_r": 16}, "4090"), ({"dtype": "float32"}, "H100")],
    ids=["full training", "full training on 40 GB", "LoRA", "fp32 weights"],
)
def test_the_edits_for_trl_make_it_fit(more, gpu):
    before = estimate(config=yaml.safe_dump(TRL | more), gpu=gpu)
    assert not before["fits"]
    sets = [proposal for proposal in before["smallest_changes"] if proposal["edits"]]
    assert sets
    for proposal in sets:
        changed = TRL | more | {edit["key"]: edit["value"] for edit in proposal["edits"]}
        after = estimate(config=yaml.safe_dump(changed), gpu=gpu)
        assert after["fits"], (proposal, after["failing"])
        assert after["peak_gib"] == pytest.approx(proposal["peak_gib"], abs=0.6)


def test_a_smaller_set_comes_before_a_larger_one():
    data = estimate(config=verl(tokens=32_768), gpu="4090")
    assert data["smallest_changes"][0]["changes"][0].startswith("micro-batches of ")
    assert len(data["smallest_changes"][0]["changes"]) == 1


def test_a_proposal_is_no_stronger_than_needed():
    """The largest micro-batch that still fits, not one sequence."""
    data = estimate(config=verl(tokens=32_768), gpu="4090")
    tokens = data["smallest_changes"][0]["edits"][0]["value"]
    assert tokens > 1536
    larger = estimate(config=with_edits(verl(tokens=32_768), [{"key": data["smallest_changes"][0]["edits"][0]["key"],
                                                                "value": tokens + 1536}]), gpu="4090")  # fmt: skip
    assert not larger["fits"]


def test_the_phase_that_fails_is_named_with_its_reason():
    data = estimate(config=verl(model="Qwen2.5-7B-Instruct", share=0.5), gpu="4090")
    why = {phase["name"]: phase.get("why", "") for phase in data["phases"]}
    assert why["weight sync"].endswith("GiB of 23.5 GiB")
    assert why["rollout"] == "a share of 11.8 GiB for weights of 14.2 GiB: the engine does not start"


def test_an_engine_with_weights_but_no_room_for_one_answer_fails():
    data = estimate(config=verl(model="Qwen2.5-7B-Instruct", share=0.64), gpu="4090")
    why = {phase["name"]: phase.get("why", "") for phase in data["phases"]}["rollout"]
    assert "KV cache" in why


def test_a_larger_card_is_of_the_same_vendor_and_fits():
    data = estimate(config=verl(model="Qwen2.5-7B-Instruct"), gpu="4090")
    (text,) = [row["changes"][0] for row in data["smallest_changes"] if "instead of GeForce" in row["changes"][0]]
    larger = text.removesuffix(" instead of GeForce RTX 4090")
    assert "Ascend" not in larger
    assert estimate(config=verl(model="Qwen2.5-7B-Instruct"), gpu=larger)["fits"]


def test_a_smaller_model_of_the_family_is_named_and_fits():
    data = estimate(config=verl(model="Qwen2.5-7B-Instruct"), gpu="4090")
    (text,) = [row["changes"][0] for row in data["smallest_changes"] if text_is_model(row["changes"][0])]
    assert estimate(config=verl(model=text.split(" instead")[0]), gpu="4090")["fits"]


def text_is_model(text: str) -> bool:
    return text.endswith("instead of Qwen2.5-7B")


def test_when_nothing_helps_the_answer_says_what_is_left():
    data = estimate(model="DeepSeek-V3", gpu="4090", framework="trl")
    (only,) = data["smallest_changes"]
    assert only["changes"][0].startswith("nothing computed here makes it fit")
    assert only["peak_gib"] > 1000


def test_absurd_sizes_are_answered_at_once():
    begin = time.perf_counter()
    data = estimate(config=verl(tokens=10**10), gpu="4090")
    assert not data["fits"]
    assert time.perf_counter() - begin < 2
