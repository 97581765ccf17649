"""Bugs of frameworks that a run does not use are not named."""

from __future__ import annotations

import pytest

from grpo_guard.diagnosis.diagnose import diagnose
from grpo_guard.diagnosis.evidence import Evidence
from grpo_guard.diagnosis.scope import concerns
from grpo_guard.store import lookup


@pytest.mark.parametrize(
    ("run", "package", "frameworks", "answer"),
    [
        ("verl", "verl", [], True),
        ("verl", "trl", [], False),
        ("verl", "trl", ["verl"], True),
        ("verl", "vllm", ["trl"], True),
        ("verl", "deepspeed", [], True),
        ("", "trl", [], True),
        ("my-own-loop", "trl", [], True),
        ("vLLM", "sglang", ["slime"], False),
        ("vLLM", "verl", [], True),
        ("DeepSpeed", "megatron", ["slime"], False),
        ("Megatron-LM", "megatron", [], True),
        ("NeMo-RL", "trl", [], False),
    ],
)
def test_whose_bugs_concern_a_run(run: str, package: str, frameworks: list[str], answer: bool) -> None:
    assert concerns({"package": package, "frameworks": frameworks}, Evidence(framework=run)) is answer


def test_a_verl_run_is_not_told_of_bugs_of_other_trainers() -> None:
    words = "loss and grad_norm are 0 because every group has uniform rewards, all completions score the same"
    answer = diagnose(words, framework="verl")
    packages = {lookup.bugs()[name]["package"] for row in answer.hypotheses for name in row.bugs if "#" not in name}
    others = {"trl", "openrlhf", "slime", "ms-swift", "skyrl", "areal", "nemo-rl"} & packages
    known = {name for row in answer.hypotheses for name in row.bugs if "#" not in name}
    assert all("verl" in lookup.bugs()[name].get("frameworks", ()) for name in known if name.split("-")[0] in others)
    assert packages


def test_random_bytes_are_not_enough_information(tmp_path) -> None:
    import random

    path = tmp_path / "run.log"
    path.write_bytes(random.Random(3).randbytes(400_000))
    answer = diagnose(logs=[path])
    assert answer.hypotheses == []
    assert answer.notes == ["not enough information: nothing in the input is like a known failure"]
