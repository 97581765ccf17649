"""Engine arguments inside trainers: read by the engine's own names, judged by its own table."""

from __future__ import annotations

import pytest

from grpo_guard.store.index import index
from grpo_guard.validate import validate_text

from .test_same_hazard import LAUNCHES

INIT = "generator.inference_engine.engine_init_kwargs"
KEYWORDS = "policy.generation.vllm_kwargs"
VERL = "actor_rollout_ref.rollout.engine_kwargs.sglang"


@pytest.mark.parametrize(
    "framework, words, field, value",
    [
        ("skyrl", f"{INIT}.max_model_len=8192", "max_model_len", 8192),
        ("skyrl", f"'{INIT}={{max_model_len: 4096}}'", "max_model_len", 4096),
        ("skyrl", f"{INIT}.kv_transfer_config.kv_connector=NixlConnector", "kv_connector", "NixlConnector"),
        # vLLM's arguments are set over SkyRL's own
        ("skyrl", f"generator.inference_engine.max_num_seqs=64 {INIT}.max_num_seqs=32", "max_num_seqs", 32),
        ("nemo-rl", f"++{KEYWORDS}.mamba_cache_mode=all", "mamba_cache_mode", "all"),
        ("nemo-rl", f"++{KEYWORDS}.speculative_config.method=mtp", "speculative_method", "mtp"),
        ("slime", "--sglang-attention-backend fa3", "rollout_attention_backend", "fa3"),
        ("slime", "--sglang-disable-radix-cache", "enable_prefix_caching", False),
        ("slime", "--sglang-ep 8", "rollout_expert_parallel", 8),
        ("slime", "--sglang-kv-cache-dtype fp8_e5m2", "kv_cache_dtype", "fp8_e5m2"),
        ("verl", f"actor_rollout_ref.rollout.name=sglang +{VERL}.lora_backend=csgmv", "lora_backend", "csgmv"),
        ("ms-swift", """--vllm_engine_kwargs '{"kv_cache_dtype": "fp8"}'""", "kv_cache_dtype", "fp8"),
    ],
)
def test_an_argument_fills_the_engines_field(run_of, framework, words, field, value):
    run = run_of({"run.sh": f"{LAUNCHES[framework]} {words}\n"}, sglang="0.5.9")
    assert (run.framework, run.value(field)) == (framework, value)


@pytest.mark.parametrize(
    "framework, words, key, meant",
    [
        ("skyrl", f"{INIT}.max_model_length=8192", f"{INIT}.max_model_length", f"{INIT}.max_model_len"),
        ("nemo-rl", f"++{KEYWORDS}.max_num_seq=8", f"{KEYWORDS}.max_num_seq", f"{KEYWORDS}.max_num_seqs"),
        ("slime", "--sglang-atention-backend fa3", "--sglang-atention-backend", "--sglang-attention-backend"),
    ],
)
def test_a_name_that_the_engine_does_not_have(run_of, framework, words, key, meant):
    run = run_of({"run.sh": f"{LAUNCHES[framework]} {words}\n"}, vllm="0.12.0", sglang="0.5.9")
    (row,) = run.unknown_keys
    assert (row.key, row.did_you_mean[0]) == (key, meant)


def test_slime_leaves_its_own_options_and_the_routers_alone(run_of):
    words = "--sglang-router-ip 10.0.0.1 --sglang-server-concurrency 128 --sglang-config e.yaml --router-policy random"
    run = run_of({"run.sh": f"{LAUNCHES['slime']} {words}\n"}, slime="0.3.1", sglang="0.5.9")
    assert run.unknown_keys == []


def test_slime_takes_no_value_that_sglang_refuses():
    text = f"{LAUNCHES['slime']} --sglang-attention-backend fa9\n"
    report = validate_text(text, framework="slime", versions={"slime": "0.3.1", "sglang": "0.5.9"})
    assert [finding.rule for finding in report.findings] == ["invalid-choice"]


@pytest.mark.parametrize("version, fires", [("0.2.1", True), ("0.3.1", False)])
def test_slime_backs_a_draft_up_from_0_2_2_on(version, fires):
    words = "--colocate --sglang-speculative-algorithm EAGLE"
    versions = {"slime": version, "sglang": "0.5.9"}
    report = validate_text(f"{LAUNCHES['slime']} {words}\n", framework="slime", versions=versions)
    assert ("sglang-31674" in {finding.rule for finding in report.findings}) is fires


@pytest.mark.parametrize("framework, keys", [("skyrl", INIT), ("nemo-rl", KEYWORDS)])
def test_a_bug_of_the_engine_is_found_in_the_trainer(framework, keys):
    words = f"++{keys}.kv_transfer_config.kv_connector=NixlConnector"
    plain = words.removeprefix("++") if framework == "skyrl" else words
    report = validate_text(f"{LAUNCHES[framework]} {plain}\n", framework=framework, versions={"vllm": "0.20.0"})
    assert "vllm-42695" in {finding.rule for finding in report.findings}


def test_sections_are_those_of_the_data():
    assert index()["adapters"]["skyrl"]["engine_section"]["skyrl"] == f"{INIT}."
    assert index()["adapters"]["nemo-rl"]["engine_section"] == f"{KEYWORDS}."
