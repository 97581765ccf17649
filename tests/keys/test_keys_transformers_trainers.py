"""ms-swift, LLaMA-Factory, axolotl: facts of their releases, each looked up in the source of the release."""

import pytest

from grpo_guard.configs.keys import MISSING, load


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("3.11.0", "vllm_mode", "colocate"),
        ("3.11.1", "vllm_mode", None),
        ("3.9.3", "scale_rewards", True),
        ("3.10.0", "scale_rewards", None),
        ("4.0.2", "top_k", 50),
        ("4.0.3", "top_k", -1),
        ("3.12.6", "train_type", "lora"),
        ("4.0.0", "tuner_type", "lora"),
        ("4.1.0", "train_type", MISSING),
        ("3.5.3", "split_dataset_ratio", 0.01),
        ("3.6.0", "split_dataset_ratio", 0.0),
        ("4.6.0", "max_completion_length", 512),
        ("4.6.0", "vllm_gpu_memory_utilization", 0.9),
        ("4.6.0", "weight_decay", 0.1),
    ],
)
def test_swift_rlhf(version, key, default):
    assert load("ms-swift", ["rlhf"], version).default(key) == default


def test_swift_megatron_and_rollout():
    megatron = load("ms-swift", ["megatron_rlhf"], "4.5.3")
    assert (megatron.default("global_batch_size"), megatron.default("tuner_type")) == (16, "full")
    assert megatron.choices("rlhf_type") == ("dpo", "kto", "grpo", "gkd", "rm")
    assert "grpo" not in load("ms-swift", ["megatron_rlhf"], "3.10.3").choices("rlhf_type")
    assert load("ms-swift", ["rollout"], "3.7.0").default("vllm_data_parallel_size") == 1


def test_swift_ships_deepspeed_configs():
    two, three = (load("ms-swift", [f"ds_zero{stage}"], "4.5.3") for stage in (2, 3))
    assert (two.default("zero_optimization.stage"), two.default("zero_optimization.overlap_comm")) == (2, False)
    assert three.default("zero_optimization.stage3_gather_16bit_weights_on_model_save") is True


def test_a_literal_of_numbers_has_their_type():
    table = load("ms-swift", ["megatron_rlhf"], "4.5.3")
    assert (table.type("sleep_level"), table.choices("sleep_level")) == ("int", (0, 1, 2))


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.11.0", "trl.vllm_mode", MISSING),
        ("0.12.0", "trl.vllm_mode", None),
        ("0.15.0", "trl.generation_batch_size", MISSING),
        ("0.16.0", "trl.generation_batch_size", None),
        ("0.20.0", "vllm.gpu_memory_utilization", 0.9),
        ("0.21.0", "vllm.gpu_memory_utilization", None),
        ("0.21.0", "micro_batch_size", 1),
        ("0.21.0", "trl.scale_rewards", True),
    ],
)
def test_axolotl_config(version, key, default):
    assert load("axolotl", ["config"], version).default(key) == default


def test_axolotl_pins_and_choices():
    assert load("axolotl", ["requires"], "0.18.0").default("trl") == "==1.8.0"
    assert load("axolotl", ["requires"], "0.13.2").default("trl") == "==0.27.0"
    assert "gdpo" not in load("axolotl", ["config"], "0.12.2").choices("rl")
    assert "gdpo" in load("axolotl", ["config"], "0.13.2").choices("rl")


def test_axolotl_nested_models_are_open_and_aliases_known():
    table = load("axolotl", ["config", "plugins"], "0.18.0")
    assert table.known("special_tokens.pad_token")
    assert table.known("fsdp_config.reshard_after_forward")
    assert table.canonical("type_of_model") == "model_type"
    assert not table.known("trl.num_generation")


def test_llama_factory():
    table = load("llama-factory", ["train"], "0.9.3")
    assert (table.default("stage"), table.default("lora_rank"), table.default("finetuning_type")) == ("sft", 8, "lora")
    assert "grpo" not in table.choices("stage")
    assert not table.exists("compute_dtype"), "a field that only code sets"
