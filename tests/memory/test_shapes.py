"""Shapes of checkpoints, and the sizes that follow from them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from grpo_guard.configs.values import InputError
from grpo_guard.memory.config_json import parse_config_json
from grpo_guard.memory.shapes import known_shape, nearest_models, of_entry
from grpo_guard.store import memory as store

ROOT = Path(__file__).parents[2]
MODELS = {id: of_entry(entry) for id, entry in store.models().items()}


def test_forty_checkpoints_and_more_are_known():
    assert len(MODELS) >= 40


@pytest.mark.parametrize("id", MODELS)
def test_every_shape_names_a_source_that_can_be_opened(id):
    entry = yaml.safe_load((ROOT / f"knowledge/models/{id}.yaml").read_text("utf-8"))
    assert all(reference["url"].startswith("https://") for reference in entry["references"])
    assert str(entry["last_verified"]) >= "2026-01-01"


def test_what_the_program_loads_was_built_from_the_files():
    code = (
        "from build_memory import build_memory; from build_index import written; print(written(build_memory()), end='')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT / "scripts", capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "knowledge/memory.json").read_text("utf-8")


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("Qwen/Qwen2.5-0.5B-Instruct", 494_032_768),
        ("Qwen/Qwen2.5-1.5B-Instruct", 1_543_714_304),
        ("Qwen/Qwen2.5-7B-Instruct", 7_615_616_512),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 1_777_088_000),
        ("Qwen/Qwen3-4B", 4_022_468_096),
        ("Qwen/Qwen3-8B", 8_190_735_360),
        ("Qwen/Qwen3-30B-A3B", 30_532_122_624),
        ("meta-llama/Llama-2-7b-hf", 6_738_415_616),
        ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248),
        ("meta-llama/Llama-3.2-1B", 1_235_814_400),
        ("meta-llama/Llama-3.2-3B-Instruct", 3_212_749_824),
        ("mistralai/Mistral-7B-Instruct-v0.3", 7_248_023_552),
        ("mistralai/Mixtral-8x7B-v0.1", 46_702_792_704),
        ("microsoft/Phi-3.5-mini-instruct", 3_821_079_552),
        ("microsoft/phi-4", 14_659_507_200),
    ],
)
def test_the_parameters_of_a_checkpoint_are_counted_to_the_last_one(name, parameters):
    """The totals that the checkpoints' own files have."""
    assert known_shape(name).parameters() == parameters


@pytest.mark.parametrize("id", MODELS)
def test_the_size_in_a_name_is_about_that_of_the_shape(id):
    """A wrong width or a wrong tie of the embeddings shows here."""
    shape = MODELS[id]
    sizes = [
        float(size) for size in re.findall(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)[Bb](?![a-z])", " ".join(shape_names(id)))
    ]
    rounded = min(sizes, key=lambda size: abs(size - shape.parameters() / 1e9)) if sizes else None
    if rounded is not None and not id.startswith(("mixtral", "gemma")):  # 8x7B; Gemma's names leave out the embedding
        assert shape.parameters() / 1e9 == pytest.approx(rounded, rel=0.24)


def shape_names(id: str) -> list[str]:
    entry = store.models()[id]
    return [entry["title"], *entry["names"]]


@pytest.mark.parametrize(
    "name, active",
    [("Qwen3-30B-A3B", 3.3), ("Qwen3-235B-A22B", 22.2), ("DeepSeek-V3", 37.6), ("Mixtral-8x7B-v0.1", 12.9)],
)
def test_active_parameters_of_a_mixture_of_experts(name, active):
    assert known_shape(name).active_parameters() / 1e9 == pytest.approx(active, abs=0.1)


@pytest.mark.parametrize(
    "name, targets, millions",
    [
        ("Qwen2.5-7B", "q_proj,v_proj", 10.09),
        ("Qwen2.5-7B", "q_proj,k_proj,v_proj,o_proj", 20.19),
        ("Qwen2.5-7B", "all-linear", 80.74),
        ("Qwen3-8B", "all-linear", 87.29),
        ("Llama-3.1-8B", "all-linear", 83.89),
        ("Qwen2.5-1.5B", "all-linear", 36.93),
    ],
)
def test_lora_has_rank_times_the_sum_of_both_widths(name, targets, millions):
    assert known_shape(name).lora_parameters(32, targets) / 1e6 == pytest.approx(millions, abs=0.01)


@pytest.mark.parametrize(
    "name, kib",
    [("Qwen2.5-7B", 56), ("Llama-3.1-8B", 128), ("Qwen3-8B", 144), ("Qwen3.5-27B", 64), ("DeepSeek-V3", 68.625)],
)
def test_cache_per_token_counts_key_heads_and_only_layers_that_cache(name, kib):
    assert known_shape(name).kv_bytes_per_token() / 1024 == kib


@pytest.mark.parametrize(
    "spelling",
    [
        "Qwen/Qwen2.5-7B-Instruct",
        "/models/Qwen2.5-7B-Instruct/",
        "C:\\models\\Qwen2.5-7B",
        "unsloth/Qwen2.5-7B-Instruct-bnb-4bit",
        "qwen2.5-7b-instruct-awq",
        "qwen2-5-7b",
    ],
)
def test_a_checkpoint_is_found_by_path_hub_name_and_derivative(spelling):
    assert known_shape(spelling).id == "qwen2-5-7b"


def test_an_unknown_name_is_none_and_has_neighbours():
    assert known_shape("Qwen9-7B") is None
    assert "Qwen2.5-7B" in nearest_models("Qwen9-7B")


CONFIG = {
    "model_type": "qwen2", "hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12,
    "num_key_value_heads": 2, "intermediate_size": 8960, "vocab_size": 151_936, "tie_word_embeddings": True,
}  # fmt: skip


def test_a_config_json_gives_the_shape_that_the_data_has():
    assert parse_config_json(json.dumps(CONFIG), "config.json").parameters() == 1_543_714_304


def test_the_language_model_inside_a_multimodal_config_is_meant():
    wrapped = {"model_type": "qwen2_5_vl", "text_config": {**CONFIG}}
    assert parse_config_json(json.dumps(wrapped), "config.json").layers == 28


def test_experts_and_dense_first_layers_of_a_config_json():
    deepseek = {
        "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
        "num_key_value_heads": 128, "intermediate_size": 18_432, "vocab_size": 129_280, "n_routed_experts": 256,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
    }  # fmt: skip
    shape = parse_config_json(json.dumps(deepseek), "config.json")
    assert shape.parameters() == known_shape("DeepSeek-V3").parameters()


@pytest.mark.parametrize(
    "text, says",
    [
        ("{", "not JSON"),
        ("[1]", "not a model's config.json"),
        ("{}", "no hidden_size"),
        (json.dumps({**CONFIG, "hidden_size": -1}), "hidden_size is -1, which no model has"),
        (json.dumps({**CONFIG, "num_hidden_layers": 10**9}), "num_hidden_layers is 1000000000, which no model has"),
        (json.dumps({**CONFIG, "vocab_size": "many"}), "vocab_size is many, which no model has"),
        (json.dumps({**CONFIG, "num_experts": 4, "num_experts_per_tok": 8}), "8 of 4 experts per token"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_config_json_that_is_none_is_refused_in_one_line(text, says):
    with pytest.raises(InputError, match=re.escape(says)) as refused:
        parse_config_json(text, "config.json")
    assert "\n" not in str(refused.value)
