"""Defaults and key names by version, as the released packages state them."""

import pytest

from grpo_guard.configs.keys import MISSING, Lifecycle, load
from grpo_guard.configs.values import Unresolved

ROLLOUT = "actor_rollout_ref.rollout"
ACTOR = "actor_rollout_ref.actor"


def verl(version: str, table: str = "ppo_trainer"):
    return load("verl", [table], version)


def grpo(version: str):
    return load("trl", ["GRPOConfig", "ModelConfig", "GRPOScriptArguments"], version)


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.5.0", f"{ROLLOUT}.enforce_eager", True),
        ("0.6.0", f"{ROLLOUT}.enforce_eager", False),
        ("0.9.1", f"{ROLLOUT}.enforce_eager", False),
        ("0.2", f"{ACTOR}.grad_clip", 1.0),
        ("0.9.1", f"{ACTOR}.grad_clip", 1.0),
        ("0.5.0", f"{ACTOR}.optim.clip_grad", MISSING),
        ("0.6.0", f"{ACTOR}.optim.clip_grad", 1.0),
        ("0.3.0.post1", f"{ACTOR}.entropy_coeff", 0.001),
        ("0.4.0", f"{ACTOR}.entropy_coeff", 0),
        ("0.6.1", f"{ROLLOUT}.mode", "sync"),
        ("0.7.0", f"{ROLLOUT}.mode", "async"),
        ("0.8.0", f"{ROLLOUT}.max_num_seqs", 1024),
        ("0.9.0", f"{ROLLOUT}.max_num_seqs", 256),
        ("0.8.0", f"{ROLLOUT}.calculate_log_probs", False),
        ("0.9.0", f"{ROLLOUT}.calculate_log_probs", True),
        ("0.6.0", "algorithm.rollout_correction.bypass_mode", MISSING),
        ("0.6.1", "algorithm.rollout_correction.bypass_mode", False),
        ("0.9.1", "trainer.use_v1", True),
        ("0.9.1", f"{ACTOR}.optim.lr", 1e-6),
    ],
)
def test_verl_defaults(version, key, default):
    found = verl(version).default(key)
    assert found == default
    assert type(found) is type(default)


def test_verl_rollout_name_must_be_set_from_0_6_0_on():
    assert verl("0.5.0").default(f"{ROLLOUT}.name") == "vllm"
    assert verl("0.6.0").default(f"{ROLLOUT}.name") is MISSING
    assert verl("0.6.0").required(f"{ROLLOUT}.name")
    assert not verl("0.6.0").required(f"{ROLLOUT}.no_such_key")


def test_verl_megatron_table_has_its_own_keys_and_defaults():
    key = f"{ACTOR}.megatron.use_mbridge"
    assert verl("0.6.1", "ppo_megatron_trainer").default(key) is False
    assert verl("0.7.0", "ppo_megatron_trainer").default(key) is True
    assert not verl("0.7.0").known(key)
    assert verl("0.7.0").explain_unknown(key).note == "exists only in the megatron engine table"
    assert not verl("0.7.0", "ppo_megatron_trainer").known(f"{ACTOR}.fsdp_config.param_offload")


def test_verl_lora_section_came_with_megatron_first():
    assert verl("0.7.1", "ppo_megatron_trainer").default("actor_rollout_ref.model.lora.rank") == 0
    assert not verl("0.7.1").known("actor_rollout_ref.model.lora.rank")
    assert verl("0.8.0").default("actor_rollout_ref.model.lora.rank") == 0


def test_verl_tables_that_start_late():
    assert verl("0.7.1", "ppo_veomni_trainer").default("model_engine") == "veomni"
    early = verl("0.6.0", "ppo_veomni_trainer")
    assert list(early) == []
    assert early.note == "the veomni engine table starts at verl 0.7.1"


def test_verl_mindspeed_engine_was_shipped_in_two_releases():
    table = verl("0.9.0", "ppo_mindspeed_trainer")
    assert table.default("model_engine") == "mindspeed"
    assert table.default(f"{ACTOR}.strategy") == "mindspeed"
    assert table.known(f"{ACTOR}.mindspeed.tensor_model_parallel_size")
    later = verl("0.9.1", "ppo_mindspeed_trainer")
    assert list(later) == []
    assert later.note == "the mindspeed engine table ends with verl 0.9.0"
    assert verl("0.9.1").explain_unknown(f"{ACTOR}.mindspeed.strategy").note == "removed in verl 0.9.1"


def test_verl_open_dictionaries_take_any_key_but_have_no_entry_for_it():
    table = verl("0.9.1")
    for key in (
        f"{ROLLOUT}.engine_kwargs.vllm.max_model_len",
        "actor_rollout_ref.model.override_config.x.y",
        "hydra.run.dir",
    ):
        assert table.known(key)
        assert not table.exists(key)
        assert table.default(key) is MISSING
    assert not table.known(f"{ROLLOUT}.no_such_key")


def test_verl_sections_count_as_known():
    assert verl("0.9.1").known(f"{ACTOR}.optim")
    assert verl("0.9.1").is_section(ACTOR)


def test_explicit_values_flow_through_interpolated_defaults():
    table = verl("0.9.1")
    assert table.default("actor_rollout_ref.ref.strategy") == "${actor_rollout_ref.actor.strategy}"
    assert table.resolved_default("actor_rollout_ref.ref.strategy") == "fsdp"
    assert table.resolved_default("actor_rollout_ref.ref.strategy", {f"{ACTOR}.strategy": "fsdp2"}) == "fsdp2"


def test_interpolation_inside_text_and_relative_to_the_section():
    table = verl("0.9.1")
    names = {"trainer.project_name": "math", "trainer.experiment_name": "run1"}
    assert table.resolved_default("trainer.default_local_dir", names) == "checkpoints/math/run1"
    saved = {f"{ACTOR}.checkpoint.save_contents": ["model"]}
    assert table.resolved_default(f"{ACTOR}.checkpoint.load_contents", saved) == ["model"]


@pytest.mark.parametrize("name", ["ppo_trainer", "ppo_megatron_trainer"])
@pytest.mark.parametrize("version", ["0.5.0", "0.7.1", "0.9.1"])
def test_verl_defaults_resolve_without_user_input(version, name):
    table = verl(version, name)
    unresolved = {key for key in table if isinstance(table.resolved_default(key), Unresolved)}
    by_code = {"critic.enable"} if version != "0.5.0" else set()
    # oc.select with a whole dictionary as its fallback
    nested = {"actor_rollout_ref.rollout.qat"} if (version, name) == ("0.9.1", "ppo_megatron_trainer") else set()
    assert unresolved == by_code | nested


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.18.2", "beta", 0.04),
        ("0.19.0", "beta", 0.0),
        ("0.17.0", "temperature", 0.9),
        ("0.18.0", "temperature", 1.0),
        ("0.25.1", "max_prompt_length", 512),
        ("0.27.2", "max_prompt_length", None),
        ("0.28.0", "max_prompt_length", MISSING),
        ("0.21.0", "loss_type", "bnpo"),
        ("0.22.0", "loss_type", "dapo"),
        ("0.29.1", "vllm_mode", "server"),
        ("1.0.0", "vllm_mode", "colocate"),
        ("1.9.2", "max_completion_length", 256),
        ("1.10.0", "max_completion_length", 512),
        ("0.21.0", "scale_rewards", True),
        ("0.22.0", "scale_rewards", "group"),
        ("1.16.0", "lora_r", 16),
        ("1.16.0", "reward_funcs", None),
        ("1.16.0", "dataset_train_split", "train"),
    ],
)
def test_trl_defaults(version, key, default):
    found = grpo(version).default(key)
    assert found == default
    assert type(found) is type(default)


def test_trl_lifecycle_of_a_removed_key():
    expected = Lifecycle("0.14.0", "0.28.0", (("0.14.0", 512), ("0.26.0", None)))
    assert grpo("1.0.0").lifecycle("max_prompt_length") == expected
    assert grpo("1.0.0").explain_unknown("max_prompt_length").note == "removed in trl 0.28.0"


def test_training_arguments_show_through_at_their_own_version():
    old, new = (load("transformers", ["TrainingArguments"], version) for version in ("4.57.6", "5.0.0"))
    assert load("trl", ["GRPOConfig"], "0.29.0", below=old).known("no_cuda")
    table = load("trl", ["GRPOConfig"], "0.29.0", below=new)
    assert not table.known("no_cuda")
    assert table.explain_unknown("no_cuda").note == "replaced by use_cpu in transformers 5.0.0"
    assert table.default("max_grad_norm") == 1.0
    assert table.default("learning_rate") == 1e-6  # TRL's own, not the 5e-5 below


def test_trl_types_choices_and_dictionaries():
    table = grpo("1.16.0")
    assert table.choices("dtype") == ("auto", "bfloat16", "float16", "float32")
    assert table.type("beta") == "float"
    assert table.is_open("model_init_kwargs.attn_implementation")
