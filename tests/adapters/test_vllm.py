"""vLLM: the server's options, the keywords of LLM and its YAML become the same run, with the release's own defaults."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

from .conftest import RunOf

SERVE = """
export VLLM_SERVER_DEV_MODE=1
vllm serve Qwen/Qwen3-30B-A3B -tp 4 --data_parallel_size 2 --dtype bfloat16 --max-model-len 16k \\
  --gpu-memory-utilization=0.6 --enable-sleep-mode --enable-lora --max-lora-rank 64 --no-enable-prefix-caching \\
  --compilation-config '{"cudagraph_mode": "PIECEWISE"}' --weight-transfer-config.backend nccl --seed 7
"""
MODULE = """
python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-30B-A3B --tensor-parallel-size 4 \\
  --data-parallel-size 2 --dtype bfloat16 --max-model-len 16000 --gpu_memory_utilization 0.6 --enable-sleep-mode \\
  --enable-lora --max-lora-rank 64 --no-enable-prefix-caching -cc.cudagraph_mode PIECEWISE \\
  --weight-transfer-config '{"backend": "nccl"}' --seed 7
"""
PYTHON = """
from vllm import LLM

llm = LLM("Qwen/Qwen3-30B-A3B", tensor_parallel_size=4, data_parallel_size=2, dtype="bfloat16", max_model_len=16000,
          gpu_memory_utilization=0.6, enable_sleep_mode=True, enable_lora=True, max_lora_rank=64, seed=7,
          enable_prefix_caching=False, compilation_config={"cudagraph_mode": "PIECEWISE"},
          weight_transfer_config={"backend": "nccl"})
"""
CONFIG = """
tensor-parallel-size: 4
data_parallel_size: 2
dtype: bfloat16
max-model-len: 16000
gpu-memory-utilization: 0.6
enable-sleep-mode: true
enable-lora: true
max-lora-rank: 64
enable-prefix-caching: false
compilation-config:
  cudagraph_mode: PIECEWISE
weight-transfer-config:
  backend: nccl
seed: 7
"""
EFFECTIVE = {
    "model": "Qwen/Qwen3-30B-A3B",
    "is_moe": True,
    "rollout_engine": "vllm",
    "rollout_tensor_parallel": 4,
    "rollout_data_parallel": 2,
    "rollout_dtype": "bfloat16",
    "max_model_len": 16000,
    "gpu_memory_utilization": 0.6,
    "free_cache_engine": True,
    "enable_lora": True,
    "max_lora_rank": 64,
    "enable_prefix_caching": False,
    "cudagraph_mode": "PIECEWISE",
    "weight_sync_backend": "nccl",
    "rollout_seed": 7,
    "enforce_eager": False,
    "logprobs_mode": "raw_logprobs",
    "max_logprobs": 20,
    "generation_config": "auto",
    "speculation": False,
}


def values(run: RunConfig) -> dict[str, Any]:
    return {name: run.value(name) for name in EFFECTIVE}


def unknown(run: RunConfig) -> dict[str, tuple[bool, list[str], str]]:
    return {row.key: (row.fatal, row.did_you_mean, row.note) for row in run.unknown_keys}


def fired(run: RunConfig) -> set[str]:
    return {verdict.rule["id"] for verdict in check_run(run) if verdict.finding is not None}


@pytest.mark.parametrize("name, text", [("run.sh", SERVE), ("server.sh", MODULE), ("run.py", PYTHON)])
def test_commands_and_calls_are_the_same_run(run_of: RunOf, name: str, text: str) -> None:
    run = run_of({name: text}, vllm="0.19.0")
    assert run.framework == "vllm"
    assert values(run) == EFFECTIVE
    assert unknown(run) == {}


def test_the_config_file_of_the_command_is_read(run_of: RunOf) -> None:
    run = run_of(
        {"run.sh": "vllm serve Qwen/Qwen3-30B-A3B --config c.yaml\n", "c.yaml": CONFIG}, "run.sh", vllm="0.19.0"
    )
    assert values(run) == EFFECTIVE
    assert run.partial == ""
    assert run.settings["max_lora_rank"].file.endswith("c.yaml")


def test_the_command_wins_over_its_config_file(run_of: RunOf) -> None:
    files = {"run.sh": "vllm serve m --config c.yaml --max-lora-rank 128\n", "c.yaml": CONFIG}
    assert run_of(files, "run.sh", vllm="0.19.0").value("max_lora_rank") == 128


def test_a_config_file_alone_is_a_part_of_a_run(run_of: RunOf) -> None:
    run = run_of({"c.yaml": CONFIG}, vllm="0.19.0")
    assert (run.framework, run.partial) == ("vllm", "only a part of the run was given")


def test_a_config_file_that_is_not_there_is_said(run_of: RunOf) -> None:
    run = run_of({"run.sh": "vllm serve m --config other.yaml\n"}, vllm="0.19.0")
    assert run.notes == ["other.yaml was not found: keys that the command line does not set are unknown"]
    assert run.partial


def test_a_model_behind_a_switch_is_the_model(run_of: RunOf) -> None:
    run = run_of({"run.sh": "vllm serve --enforce-eager Qwen/Qwen3-8B --port 8000\n"}, vllm="0.19.0")
    assert (run.value("model"), run.value("enforce_eager")) == ("Qwen/Qwen3-8B", True)


def test_human_readable_numbers(run_of: RunOf) -> None:
    text = "vllm serve m --max-model-len 32K --max-num-batched-tokens 2k\n"
    run = run_of({"run.sh": text}, vllm="0.19.0")
    assert (run.value("max_model_len"), run.value("max_num_batched_tokens")) == (32768, 2000)


@pytest.mark.parametrize(
    "version, share, cascade",
    [("0.17.1", 0.9, False), ("0.18.0", 0.9, True), ("0.20.0", 0.92, True)],
)
def test_defaults_are_those_of_the_version(run_of: RunOf, version: str, share: float, cascade: bool) -> None:
    run = run_of({"run.sh": "vllm serve m\n"}, vllm=version)
    assert (run.value("gpu_memory_utilization"), run.value("disable_cascade_attn")) == (share, cascade)
    assert run.settings["gpu_memory_utilization"].version == f"vLLM {version}"


def test_a_setting_that_the_version_lacks_is_absent(run_of: RunOf) -> None:
    run = run_of({"run.sh": "vllm serve m\n"}, vllm="0.9.2")
    assert {"logprobs_mode", "weight_sync_backend"} <= run.absent


def test_unknown_and_removed_options_stop_the_server(run_of: RunOf) -> None:
    text = "vllm serve m --logprob-mode raw_logprobs --swap-space 4 --disable-log-requests --help\n"
    assert unknown(run_of({"run.sh": text}, vllm="0.33.0")) == {
        "--logprob-mode": (True, ["--logprobs-mode"], "unknown to every vllm release from 0.8.0 to 0.33.0"),
        "--swap-space": (True, [], "removed in vllm 0.18.0"),
        "--disable-log-requests": (
            True, ["--enable-log-requests"], "replaced by enable_log_requests in vllm 0.17.0",
        ),
    }  # fmt: skip
    assert unknown(run_of({"run.sh": text}, vllm="0.9.2")).keys() == {"--logprob-mode"}


def test_without_a_version_only_names_of_no_release_are_unknown(run_of: RunOf) -> None:
    run = run_of({"run.sh": "vllm serve m --swap-space 4 --task generate --max-modl-len 5\n"})
    assert unknown(run) == {
        "--max-modl-len": (False, ["--max-model-len"], "unknown to every vllm release from 0.8.0 to 0.33.0")
    }
    assert run.notes[0] == "no vllm version given: 0.33.0, the newest known, is assumed"


def test_keywords_have_no_aliases_and_no_abbreviations(run_of: RunOf) -> None:
    run = run_of(
        {"run.py": 'from vllm import LLM\nLLM(model="m", tp=2, max_model=4, max_model_len=8)\n'}, vllm="0.19.0"
    )
    assert unknown(run).keys() == {"tp", "max_model"}


def test_an_abbreviated_option_is_the_option(run_of: RunOf) -> None:
    run = run_of({"run.sh": "vllm serve m --gpu-memory-util 0.5\n"}, vllm="0.19.0")
    assert (run.value("gpu_memory_utilization"), unknown(run)) == (0.5, {})


def test_disable_for_enable_is_a_switch_of_newer_parsers(run_of: RunOf) -> None:
    text = "vllm serve m --disable-prefix-caching\n"
    newer, older = run_of({"run.sh": text}, vllm="0.33.0"), run_of({"run.sh": text}, vllm="0.32.0")
    assert (newer.value("enable_prefix_caching"), unknown(newer)) == (False, {})
    assert unknown(older).keys() == {"--disable-prefix-caching"}


def test_a_value_that_is_no_choice(run_of: RunOf) -> None:
    run = run_of({"run.sh": "vllm serve m --dtype bf16\n"}, vllm="0.19.0")
    assert [(lint.rule, lint.severity, lint.line) for lint in run.lints] == [("invalid-choice", "error", 1)]


def test_a_level_behind_the_flag_and_options_of_plugins_are_known(run_of: RunOf) -> None:
    assert unknown(run_of({"run.sh": "vllm serve m -O3 --omni\n"}, vllm="0.19.0")) == {}


def test_sampling_settings_of_one_call_are_read(run_of: RunOf) -> None:
    text = "from vllm import LLM, SamplingParams\nllm = LLM(model='m')\n" + (
        "params = SamplingParams(temperature=0.7, top_p=0.9, max_tokens=64, logprobs=40, guided_decoding=None)\n"
    )
    run = run_of({"run.py": text}, vllm="0.19.0")
    read = {"temperature": 0.7, "top_p": 0.9, "max_response_length": 64, "calculate_log_probs": True}
    assert {name: run.value(name) for name in read} == read
    assert unknown(run)["guided_decoding"][0] is True
    assert fired(run) == {"vllm-max-logprobs", "raw-log-probs-at-temperature"}


def test_settings_that_the_text_does_not_show(run_of: RunOf) -> None:
    run = run_of({"run.py": "from vllm import LLM\nLLM(model='m', max_model_len=n, **more)\n"}, vllm="0.19.0")
    assert isinstance(run.settings["max_model_len"].value, Unresolved)
    assert run.partial


@pytest.mark.parametrize(
    "bug, version, text",
    [
        ("vllm-33013", "0.15.0", "vllm serve m --enable-return-routed-experts"),
        ("vllm-39568", "0.20.2", "vllm serve m --enable-return-routed-experts"),
        ("vllm-34874", "0.16.0", "vllm serve m --mamba-cache-mode all --enable-prefix-caching"),
        (
            "vllm-42695",
            "0.22.1",
            "vllm serve m --enable-sleep-mode --kv-transfer-config.kv_connector MooncakeConnector",
        ),
    ],
)
def test_bugs_that_an_engine_shows(run_of: RunOf, bug: str, version: str, text: str) -> None:
    assert bug in fired(run_of({"run.sh": text + "\n"}, vllm=version))
    assert bug not in fired(run_of({"run.sh": text + "\n"}, vllm="0.33.0"))
    assert bug not in fired(run_of({"run.sh": "vllm serve m\n"}, vllm=version))


def test_an_external_launcher_without_a_seed(run_of: RunOf) -> None:
    call = "LLM(model='m', tensor_parallel_size=2, {}distributed_executor_backend='external_launcher')"
    text = f"from vllm import LLM\n{call}\n"
    assert "vllm-15895" in fired(run_of({"run.py": text.format("")}, vllm="0.8.2"))
    assert "vllm-15895" not in fired(run_of({"run.py": text.format("seed=0, ")}, vllm="0.8.2"))


def test_names_inside_a_trainer_are_judged_by_the_engine(run_of: RunOf) -> None:
    text = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm "
        "+actor_rollout_ref.rollout.engine_kwargs.vllm.max_log_probs=50 "
        "+actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_dtype=fp8 "
        "+actor_rollout_ref.rollout.engine_kwargs.sglang.attention_backend=fa3\n"
    )
    run = run_of({"run.sh": text}, verl="0.8.0", vllm="0.11.0")
    section = "actor_rollout_ref.rollout.engine_kwargs.vllm."
    assert unknown(run) == {
        f"{section}max_log_probs": (
            False, [f"{section}max_logprobs"], "unknown to every vllm release from 0.8.0 to 0.33.0",
        )
    }  # fmt: skip
    assert run.value("kv_cache_dtype") == "fp8"


def test_keys_inside_json_are_those_of_the_configuration_class(run_of: RunOf) -> None:
    text = """vllm serve m -cc.level 3 --compilation-config.cudagraph_mod FULL \\
      --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}' \\
      --kv-transfer-config '{"kv_connector": "X", "kv_connector_extra_config": {"own": 1}}'
"""
    run = run_of({"run.sh": text}, vllm="0.33.0")
    assert unknown(run) == {
        "-cc.level": (True, [], "removed in vllm 0.18.0"),
        "--compilation-config.cudagraph_mod": (
            True, ["--compilation-config.cudagraph_mode"], "unknown to every vllm release from 0.8.0 to 0.33.0",
        ),
    }  # fmt: skip
    older = run_of({"run.sh": text}, vllm="0.12.0")
    assert {key: row[0] for key, row in unknown(older).items()} == {"--compilation-config.cudagraph_mod": False}
