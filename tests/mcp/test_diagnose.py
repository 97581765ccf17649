"""diagnose over MCP: files only inside the roots, short by default, valid by its own schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.roots import Roots
from grpo_guard.tools.diagnose import TOOL


def call(folder: Path, **arguments: object) -> dict[str, object]:
    return TOOL.call(arguments, Roots.choose([str(folder)])).data


def test_words_log_and_config_in_one_call(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("torch.OutOfMemoryError: CUDA out of memory\n", encoding="utf-8")
    (tmp_path / "run.yaml").write_text("actor_rollout_ref:\n  rollout:\n    name: vllm\n", encoding="utf-8")
    data = call(
        tmp_path,
        symptoms="it dies when vLLM wakes up",
        log_path="train.log",
        config_path="run.yaml",
        versions="verl=0.8.0, gpu=4090",
    )
    assert data["hypotheses"][0]["pattern"] == "colocation_handover_oom"
    assert data["coverage"]["files"][0]["lines"] == 1
    assert len(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) <= 3_200


def test_no_field_is_null_because_the_schema_says_text(tmp_path: Path) -> None:
    data = call(tmp_path, symptoms="loss is nan", detail="full")
    assert [name for name, value in data.items() if value is None] == []
    assert set(data) <= set(TOOL.answers)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "nothing to go by"),
        ({"log_path": "../secret.log"}, "outside the allowed folders"),
        ({"symptoms": "nan", "config": "a: 1", "config_path": "run.yaml"}, "either `config`"),
        ({"symptoms": "x" * 20_001}, "at most 20,000"),
        ({"symptom": "nan"}, "did you mean symptoms"),
    ],
)
def test_a_wrong_call_says_what_to_change(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(tmp_path, **arguments)
