"""MindIE: config.json with its list of models, and a script that only starts the daemon."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import RunOf

SHIPPED = Path(__file__).parents[1] / "cases" / "rules" / "mindie-devices-differ-from-world-size" / "silent.json"
SCRIPT = "export HCCL_CONNECT_TIMEOUT=7200\nexport MINDIE_LOG_LEVEL=info\n./bin/mindieservice_daemon\n"


def test_fields_and_where_they_stand(run_of: RunOf) -> None:
    run = run_of({"config.json": SHIPPED.read_text()}, **{"mindie-llm": "3.0.0"})
    expected = {
        "rollout_engine": "mindie", "device": "npu", "rollout_tensor_parallel": 4, "npus_per_instance": 4,
        "max_model_len": 2560, "max_prompt_length": 2048, "max_response_length": 8192, "max_prefill_tokens": 8192,
        "max_num_seqs": 200, "npu_memory_gib": -1, "trust_remote_code": False, "mindie_template": "Standard",
    }  # fmt: skip
    assert run.framework == "mindie"
    assert {name: run.value(name) for name in expected} == expected
    assert run.settings["max_response_length"].key == "BackendConfig.ScheduleConfig.maxIterTimes"
    assert run.settings["max_response_length"].line > 1
    assert run.unknown_keys == []


def test_the_version_may_be_given_by_either_name(run_of: RunOf) -> None:
    assert run_of({"config.json": SHIPPED.read_text()}, mindie="3.0.0").versions["mindie-llm"] == "3.0.0"


def test_a_misspelt_key_is_listed_and_a_models_own_key_is_not(run_of: RunOf) -> None:
    data = json.loads(SHIPPED.read_text())
    data["BackendConfig"]["ScheduleConfig"]["maxIterTime"] = 4096
    data["BackendConfig"]["ModelDeployConfig"]["ModelConfig"][0]["moe_tp"] = 4
    run = run_of({"config.json": json.dumps(data)}, mindie="3.0.0")
    assert [(row.key, row.did_you_mean, row.fatal) for row in run.unknown_keys] == [
        ("BackendConfig.ScheduleConfig.maxIterTime", ["BackendConfig.ScheduleConfig.maxIterTimes"], False)
    ]


def test_a_script_alone_leaves_the_settings_open(run_of: RunOf) -> None:
    run = run_of({"run.sh": SCRIPT})
    assert (run.framework, run.partial) == ("mindie", "the server's config.json was not given")
    assert run.env["HCCL_CONNECT_TIMEOUT"].value == "7200"


def test_script_and_file_are_one_run(run_of: RunOf) -> None:
    run = run_of({"run.sh": SCRIPT, "config.json": SHIPPED.read_text()}, mindie="3.0.0")
    assert (run.partial, run.value("max_response_length"), "HCCL_CONNECT_TIMEOUT" in run.env) == ("", 8192, True)
