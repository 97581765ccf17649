"""vLLM-Ascend: told by its version, its variables or its keys; additional_config in JSON, dotted and as keywords."""

from __future__ import annotations

import pytest

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

from .conftest import RunOf

PLAIN = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --enable-sleep-mode\n"


def fired(run: RunConfig) -> set[str]:
    return {verdict.rule["id"] for verdict in check_run(run) if verdict.finding is not None}


def ascend(run_of: RunOf, text: str, version: str | None = "0.18.0", name: str = "run.sh") -> RunConfig:
    return run_of({name: text}, **({"vllm-ascend": version} if version else {}))


@pytest.mark.parametrize(
    "text",
    [
        "export HCCL_BUFFSIZE=512\n" + PLAIN,
        "VLLM_ASCEND_ENABLE_NZ=0 " + PLAIN,
        PLAIN.strip() + """ --additional-config '{"eplb_config": {"dynamic_eplb": true}}'\n""",
        PLAIN.strip() + " --additional-config.weight_nz_mode 0\n",
    ],
)
def test_signs_of_the_plug_in(run_of: RunOf, text: str) -> None:
    run = ascend(run_of, text, None)
    assert (run.framework, run.value("device"), run.value("rollout_engine")) == ("vllm-ascend", "npu", "vllm")
    assert run.value("rollout_tensor_parallel") == 2


def test_without_a_sign_it_is_vllm_and_with_the_version_it_is_not(run_of: RunOf) -> None:
    assert ascend(run_of, PLAIN, None).framework == "vllm"
    assert ascend(run_of, PLAIN).framework == "vllm-ascend"


@pytest.mark.parametrize(
    "text, name",
    [
        (PLAIN.strip() + """ --additional-config '{"weight_nz_mode": 2, "eplb_config": {"dynamic_eplb": true}}'\n""",
         "a.sh"),
        (f"{PLAIN.strip()} --additional-config.weight_nz_mode 2 --additional-config.eplb_config.dynamic_eplb true\n",
         "b.sh"),
        ("from vllm import LLM\nLLM(model='m', additional_config="
         "{'weight_nz_mode': 2, 'eplb_config': {'dynamic_eplb': True}})\n", "c.py"),
    ],
)  # fmt: skip
def test_ways_to_write_additional_config(run_of: RunOf, text: str, name: str) -> None:
    run = ascend(run_of, text, "0.23.0", name)
    assert (run.value("weight_nz_mode"), run.value("dynamic_eplb")) == (2, True)
    assert run.unknown_keys == []


@pytest.mark.parametrize(
    "version, text, expected",
    [
        ("0.18.0", PLAIN, (1, "VLLM_ASCEND_ENABLE_NZ", "default")),
        ("0.18.0", f"export VLLM_ASCEND_ENABLE_NZ=0\n{PLAIN}", (0, "VLLM_ASCEND_ENABLE_NZ", "explicit")),
        ("0.23.0", PLAIN, (1, "additional_config.weight_nz_mode", "default")),
        ("0.23.0", f"export VLLM_ASCEND_ENABLE_NZ=0\n{PLAIN}", (0, "VLLM_ASCEND_ENABLE_NZ", "explicit")),
        ("0.27.1rc1", f"export VLLM_ASCEND_ENABLE_NZ=0\n{PLAIN}", (1, "additional_config.weight_nz_mode", "default")),
        ("0.27.1rc1", f"{PLAIN.strip()} --additional-config.rl_config.enabled true\n",
         (0, "--additional-config.rl_config.enabled", "derived")),
    ],
)  # fmt: skip
def test_the_weight_format_is_read_where_the_release_reads_it(
    run_of: RunOf, version: str, text: str, expected: tuple[int, str, str]
) -> None:
    run = ascend(run_of, text, version)
    setting = run.settings["weight_nz_mode"]
    assert (setting.value, setting.key, setting.origin) == expected
    assert ("vllm-ascend-4019" in fired(run)) is (expected[0] != 0)


def test_a_variable_counts_or_not_by_the_version(run_of: RunOf) -> None:
    run = ascend(run_of, f"export VLLM_ASCEND_ENABLE_NZ=0\n{PLAIN}", None)
    assert isinstance(run.settings["weight_nz_mode"].value, Unresolved)
    assert "vllm-ascend-4019" not in fired(run)


def test_a_key_that_no_release_has(run_of: RunOf) -> None:
    text = PLAIN.strip() + " --additional-config.weight_nz_mod 0\n"
    rows = {version: ascend(run_of, text, version).unknown_keys[0] for version in ("0.23.0", "0.27.1rc1")}
    assert [row.did_you_mean for row in rows.values()] == [["--additional-config.weight_nz_mode"]] * 2
    assert [row.fatal for row in rows.values()] == [False, True]  # ignored, then refused


@pytest.mark.parametrize(
    "bug, version, text",
    [
        ("vllm-ascend-9242", "0.18.0", f"export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\n{PLAIN}"),
        ("vllm-ascend-reduce-sample", "0.23.0", f"{PLAIN.strip()} --additional-config.enable_reduce_sample true\n"),
        ("vllm-ascend-10592", "0.23.0",
         f"export VLLM_ALLOW_INSECURE_SERIALIZATION=1\n{PLAIN.strip()} --weight-transfer-config.backend ipc\n"),
    ],
)  # fmt: skip
def test_bugs_that_an_engine_shows(run_of: RunOf, bug: str, version: str, text: str) -> None:
    assert bug in fired(ascend(run_of, text, version))
    assert bug not in fired(ascend(run_of, PLAIN, version))
