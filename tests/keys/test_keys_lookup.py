"""How a table is chosen and what it answers about keys it does not know."""

import pytest

from grpo_guard.configs.keys import MISSING, load, versions
from grpo_guard.configs.values import InputError, Unresolved

ACTOR = "actor_rollout_ref.actor"


@pytest.mark.parametrize(
    ("asked", "used", "exact", "note"),
    [
        ("0.8.0", "0.8.0", True, ""),
        ("v0.8.0+local", "0.8.0", True, ""),
        ("0.2.0", "0.2", True, ""),
        ("0.8.1", "0.8.0", False, "verl 0.8.1 lies between 0.8.0 and 0.9.0; keys of 0.8.0 are used"),
        ("0.8.0.dev", "0.7.1", False, "verl 0.8.0.dev lies between 0.7.1 and 0.8.0; keys of 0.7.1 are used"),
        ("0.10.0.dev0", "0.9.1", False, "verl 0.10.0.dev0 is newer than the data; keys of 0.9.1 are used"),
        ("0.1", "0.2", False, "verl 0.1 is older than the data; keys of 0.2 are used"),
        (None, "0.9.1", False, "no verl version given: 0.9.1, the newest known, is assumed"),
    ],
)
def test_version_used(asked, used, exact, note):
    table = load("verl", ["ppo_trainer"], asked)
    assert (table.version, table.exact, table.note) == (used, exact, note)


def test_bad_requests_are_input_errors():
    with pytest.raises(InputError, match="no key tables for framework 'nanorl'"):
        load("nanorl", ["x"])
    with pytest.raises(InputError, match=r"no key tables for framework '\.\./verl'"):
        load("../verl", ["x"])
    with pytest.raises(InputError, match="verl has no key table sft; it has ppo_megatron_trainer"):
        load("verl", ["sft"])
    with pytest.raises(InputError, match=r"'main' is no verl version; write it like 0\.9\.1"):
        load("verl", ["ppo_trainer"], "main")


def test_versions_are_those_read_in_order():
    assert versions("verl")[:3] == ("0.2", "0.2.0.post1", "0.2.0.post2")
    assert versions("verl")[-1] == "0.9.1"


@pytest.mark.parametrize(
    ("version", "key", "similar", "note"),
    [
        ("0.8.0", "critic.model.fsdp_config.param_offload", ("critic.fsdp.param_offload",),
         "renamed to critic.fsdp.param_offload in verl 0.8.0"),
        ("0.7.1", "critic.fsdp.param_offload", ("critic.model.fsdp_config.param_offload",),
         "added in verl 0.8.0; up to then the name is critic.model.fsdp_config.param_offload"),
        ("0.9.1", "actor_rollout_ref.rollout.skip_rollout", ("skip.rollout.enable",),
         "renamed to skip.rollout.enable in verl 0.9.0"),  # two renames in a row
        ("0.9.1", "reward_model.max_length", (), "removed in verl 0.7.1"),
        ("0.8.0", "trainer.use_v1", (), "added in verl 0.9.0"),
        ("0.9.1", f"{ACTOR}.megatron.use_mbridge", (), "exists only in the megatron engine table"),
        ("0.9.1", "rollout.n", ("actor_rollout_ref.rollout.n", "reward.reward_model.rollout.n"),
         "unknown to every verl release from 0.2 to 0.9.1"),
    ],
)  # fmt: skip
def test_unknown_verl_key(version, key, similar, note):
    table = load("verl", ["ppo_trainer"], version)
    assert not table.known(key)
    assert table.explain_unknown(key)[:3] == (key, similar, note)


@pytest.mark.parametrize(
    ("version", "key", "new_name"),
    [
        ("0.8.0", "critic.model.fsdp_config.param_offload", "critic.fsdp.param_offload"),
        ("0.7.1", "critic.fsdp.param_offload", "critic.model.fsdp_config.param_offload"),
        ("0.9.1", "actor_rollout_ref.rollout.skip_rollout", "skip.rollout.enable"),
        ("0.9.1", "reward_model.max_length", ""),  # removed
        ("0.9.1", "rollout.n", ""),  # only looks like others
    ],
)
def test_a_new_name_is_certain_when_the_curated_list_has_one(version, key, new_name):
    assert load("verl", ["ppo_trainer"], version).explain_unknown(key).new_name == new_name


def test_a_typing_error_is_answered_with_the_right_key_first():
    answer = load("verl", ["ppo_trainer"], "0.9.1").explain_unknown("actor_rollout_ref.rollout.enforce_egaer")
    assert answer.did_you_mean[0] == "actor_rollout_ref.rollout.enforce_eager"
    answer = load("trl", ["GRPOConfig"], "1.0.0").explain_unknown("num_generation")
    assert answer.did_you_mean[0] == "num_generations"


def test_nothing_is_proposed_for_nonsense():
    assert load("verl", ["ppo_trainer"]).explain_unknown("qqqq.zzzz").did_you_mean == ()
    assert load("verl", ["ppo_trainer"]).explain_unknown("").did_you_mean == ()


def test_a_huge_key_is_answered():
    assert load("verl", ["ppo_trainer"]).explain_unknown("a." * 50_000).did_you_mean == ()


def test_keys_that_still_work_under_their_old_name_know_the_new_one():
    table = load("trl", ["GRPOConfig", "ModelConfig"], "0.26.0")
    assert table.known("wandb_log_unique_prompts")
    assert table.replacement("wandb_log_unique_prompts") == ("log_unique_prompts",)
    assert table.replacement("beta") == ()
    verl = load("verl", ["ppo_trainer"], "0.9.1")
    assert verl.replacement("custom_reward_function.path") == ("reward.custom_reward_function.path",)


def test_an_engine_rename_is_proposed_only_where_the_engine_is_loaded():
    key = f"{ACTOR}.router_replay.mode"
    megatron = load("verl", ["ppo_megatron_trainer"], "0.9.1").explain_unknown(key)
    assert megatron.note == f"renamed to {ACTOR}.megatron.router_replay.mode in verl 0.9.1"
    assert load("verl", ["ppo_trainer"], "0.9.1").explain_unknown(key).note == "removed in verl 0.9.1"


def test_what_code_fills_in_is_not_taken_for_the_declared_null():
    trl = load("trl", ["GRPOConfig"], "1.0.0")
    assert trl.declared("bf16") is None
    assert trl.default("bf16") == Unresolved("true unless fp16 is set")
    assert load("trl", ["GRPOConfig"], "0.18.0").default("bf16") is MISSING  # a TrainingArguments field then
    assert load("verl", ["ppo_trainer"], "0.9.1").default("critic.enable") == Unresolved(
        "true when algorithm.adv_estimator is gae, else false"
    )
