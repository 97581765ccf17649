"""vLLM, SGLang, vLLM-Ascend and MindIE: facts of their releases, each looked up in the source of that release."""

import pytest

from grpo_guard.configs.keys import MISSING, load, versions


def vllm(version, *tables):
    return load("vllm", tables or ("serve", "EngineArgs"), version)


def sglang(version):
    return load("sglang", ["ServerArgs", "server"], version)


def ascend(version, table="additional_config"):
    return load("vllm-ascend", [table], version)


def mindie(version):
    return load("mindie", ["config"], version)


def test_versions_that_were_read():
    assert (versions("vllm")[0], versions("vllm")[-1], len(versions("vllm"))) == ("0.8.0", "0.33.0", 50)
    assert (versions("sglang")[0], versions("sglang")[-1], len(versions("sglang"))) == ("0.4.6", "0.5.23", 62)
    assert (versions("vllm-ascend")[0], versions("vllm-ascend")[-1]) == ("0.7.3", "0.30.0rc2")
    assert versions("mindie") == ("3.0.0b1", "3.0.0b2", "3.0.0")


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.19.1", "gpu_memory_utilization", 0.9),
        ("0.20.0", "gpu_memory_utilization", 0.92),
        ("0.9.2", "logprobs_mode", MISSING),
        ("0.10.0", "logprobs_mode", "raw_logprobs"),
        ("0.10.2", "logprobs_mode", "raw_logprobs"),  # an enumeration in this release
        ("0.33.0", "max_lora_rank", 16),
        ("0.8.0", "generation_config", "auto"),
        ("0.13.0", "async_scheduling", False),
        ("0.14.0", "async_scheduling", None),
        ("0.8.1", "disable_cascade_attn", MISSING),
        ("0.8.2", "disable_cascade_attn", False),
        ("0.18.0", "disable_cascade_attn", True),
        ("0.15.1", "weight_transfer_config", MISSING),
        ("0.16.0", "weight_transfer_config", None),
        ("0.17.1", "swap_space", 4),
        ("0.18.0", "swap_space", MISSING),
        ("0.8.0", "enable_sleep_mode", False),
        ("0.33.0", "max_logprobs", 20),
        ("0.8.4", "load_format", None),
        ("0.33.0", "port", 8000),
        ("0.8.5", "port", 8000),
    ],
)
def test_vllm_defaults(version, key, default):
    if key == "load_format":
        assert vllm(version).default(key).text == "LoadConfig.load_format"  # a member of an enumeration
    else:
        assert vllm(version).default(key) == default


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("tp", "tensor_parallel_size"),
        ("pp", "pipeline_parallel_size"),
        ("dp", "data_parallel_size"),
        ("q", "quantization"),
        ("O", "compilation_config"),
        ("device_memory_utilization", "gpu_memory_utilization"),
        ("asc", "api_server_count"),
        ("max_num_b", "max_num_batched_tokens"),
        ("max_num", None),  # ambiguous
    ],
)
def test_vllm_other_names(key, name):
    assert vllm("0.33.0").canonical(key) == name


def test_vllm_choices_and_types():
    assert vllm("0.11.0").choices("max_lora_rank") == ()
    assert vllm("0.11.1").choices("max_lora_rank") == (1, 8, 16, 32, 64, 128, 256, 320, 512)
    assert vllm("0.33.0").choices("runner") == ("auto", "generate", "pooling", "draft")
    assert vllm("0.33.0").type("max_lora_rank") == "int"
    assert vllm("0.33.0").known("compilation_config.cudagraph_mode")
    assert not vllm("0.33.0").known("seed.value")


def test_vllm_python_interfaces():
    assert vllm("0.33.0", "SamplingParams").default("temperature") == 1.0
    assert vllm("0.33.0", "LLM", "EngineArgs").known("chat_template")
    assert vllm("0.32.0", "parser").default("disable_switches") is False
    assert vllm("0.33.0", "parser").default("disable_switches") is True


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.4.6", "lora_backend", "triton"),
        ("0.5.3.post3", "lora_backend", "csgmv"),
        ("0.5.4", "lora_backend", "triton"),
        ("0.5.4.post2", "lora_backend", "csgmv"),
        ("0.5.2", "enable_weights_cpu_backup", MISSING),
        ("0.5.3", "enable_weights_cpu_backup", False),
        ("0.5.23", "enable_memory_saver", False),
        ("0.5.23", "max_loras_per_batch", 8),
        ("0.5.23", "mem_fraction_static", None),
        ("0.5.4", "rl_on_policy_target", MISSING),
        ("0.5.4.post1", "rl_on_policy_target", None),
        ("0.5.13.post1", "cuda_graph_max_bs_decode", MISSING),
        ("0.5.14", "cuda_graph_max_bs_decode", None),
        ("0.5.21", "attn_dp_size", MISSING),
        ("0.5.22", "attn_dp_size", 1),
    ],
)
def test_sglang_defaults(version, key, default):
    assert sglang(version).default(key) == default


@pytest.mark.parametrize("version", ["0.4.6", "0.5.10", "0.5.17", "0.5.23"])
def test_sglang_names_in_each_style_of_its_source(version):
    table = sglang(version)
    names = {
        "tp": "tp_size",
        "tensor_parallel_size": "tp_size",
        "model": "model_path",
        "mem_fraction": "mem_fraction_static",
    }
    assert {key: table.canonical(key) for key in names} == names
    assert (table.type("tp_size"), table.type("enable_memory_saver")) == ("int", "bool")
    assert "fa3" in table.choices("attention_backend")


@pytest.mark.parametrize(
    ("version", "table", "key", "default"),
    [
        ("0.11.0rc0", "environment", "VLLM_ASCEND_ENABLE_NZ", MISSING),
        ("0.11.0rc1", "environment", "VLLM_ASCEND_ENABLE_NZ", 1),
        ("0.26.0rc1", "environment", "VLLM_ASCEND_ENABLE_NZ", 1),
        ("0.27.1rc1", "environment", "VLLM_ASCEND_ENABLE_NZ", MISSING),
        ("0.18.0", "additional_config", "weight_nz_mode", MISSING),
        ("0.20.2rc1", "additional_config", "weight_nz_mode", 1),
        ("0.27.1rc1", "additional_config", "rl_config.enabled", False),
        ("0.23.0", "additional_config", "enable_reduce_sample", False),
        ("0.30.0rc1", "additional_config", "enable_reduce_sample", MISSING),
        ("0.13.0", "additional_config", "eplb_config.dynamic_eplb", MISSING),
        ("0.14.0rc1", "additional_config", "eplb_config.dynamic_eplb", False),
        ("0.9.1", "additional_config", "torchair_graph_config.enabled", False),
    ],
)
def test_ascend_defaults(version, table, key, default):
    assert ascend(version, table).default(key) == default


def test_ascend_refuses_unknown_keys_only_since_they_are_fields():
    assert not ascend("0.26.0rc1").rejects_unknown("weight_nz")
    assert ascend("0.27.1rc1").rejects_unknown("weight_nz")


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("BackendConfig.ScheduleConfig.maxIterTimes", 512),
        ("BackendConfig.ScheduleConfig.maxPrefillTokens", 8192),
        ("BackendConfig.ModelDeployConfig.maxSeqLen", 2560),
        ("BackendConfig.ModelDeployConfig.maxInputTokenLen", 2048),
        ("BackendConfig.ModelDeployConfig.ModelConfig.npuMemSize", -1),
        ("BackendConfig.ModelDeployConfig.ModelConfig.worldSize", 4),
        ("BackendConfig.ScheduleConfig.enablePrefixCache", None),  # optional, not in the shipped file
    ],
)
def test_mindie_values_of_the_shipped_file(key, default):
    assert mindie("3.0.0").default(key) == default


def test_mindie_hands_unknown_keys_of_a_model_on():
    assert mindie("3.0.0").known("BackendConfig.ModelDeployConfig.ModelConfig.moe_tp")
    assert not mindie("3.0.0").known("BackendConfig.ScheduleConfig.maxIterTime")
