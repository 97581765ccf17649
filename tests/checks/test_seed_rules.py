"""The seeds' 36 rules: both documented JSON objects and the piped config are answered, nothing passes by default."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from grpo_guard.model import Report, SeedRow
from grpo_guard.store.index import index
from grpo_guard.validate import validate_text

# The seeds say of this one: 32 PASS, 0 FAIL, 2 WARN
OPTIMAL = {
    "zero_stage": 2,
    "optimizer": "cpu_adam",
    "gradient_clipping": 1.0,
    "overlap_comm": False,
    "lora_rank": 32,
    "fsdp_mode": "fsdp1",
    "group_size": 8,
    "bypass_mode": True,
    "enforce_eager": True,
    "use_critic": False,
    "ref_in_actor": True,
    "checkpoint_mode": "naive",
    "sleep_level": 1,
    "rollout_engine": "sglang",
    "model_dtype": "bf16",
    "gating_dtype": "fp32",
}
SHORT = {
    "zero_stage": 2,
    "gradient_clipping": 1.0,
    "overlap_comm": False,
    "lora_rank": 32,
    "fsdp_mode": "fsdp1",
    "group_size": 8,
}
PIPED = """
trainer_mode=sync | rollout.n=8 | bypass_mode=True | loss_type=ppo_clip
actor.strategy=fsdp | lora_rank=32 | enforce_eager=True | checkpoint=naive
use_critic=False | ref_in_actor=True | gradient_clipping=1.0
sleep_level=1 | free_cache_engine=True | overlap_comm=False
"""
UNDECIDABLE = {"D04", "D05", "D10", "D12", "D13", "D15", "D16", "D18", "N09", "N11", "N12"}


def answered(config: str | dict[str, Any], **options: Any) -> Report:
    text = config if isinstance(config, str) else json.dumps(config)
    return validate_text(text, ruleset="seed", **options)


def rows(config: str | dict[str, Any], **options: Any) -> dict[str, SeedRow]:
    return {row.id: row for row in answered(config, **options).seed_rules}


def statuses(config: str | dict[str, Any], **options: Any) -> dict[str, str]:
    return {name: row.status for name, row in rows(config, **options).items()}


def with_status(found: dict[str, str], status: str) -> set[str]:
    return {name for name, value in found.items() if value == status}


def test_every_check_of_a_row_is_a_rule() -> None:
    known = {rule["id"] for rule in index()["rules"]}
    assert {check for row in index()["seed_rules"] for check in row["checks"]} <= known


def test_a_rule_and_the_rows_name_each_other() -> None:
    named = {check: row["id"] for row in index()["seed_rules"] for check in row["checks"]}
    assert [rule["id"] for rule in index()["rules"] if rule.get("seed") and rule["id"] not in named] == []


def test_rows_stand_in_the_order_of_the_seeds() -> None:
    names = [row.id for row in answered({}).seed_rules]
    assert names == [f"D{number:02}" for number in range(1, 20)] + [f"N{number:02}" for number in range(1, 18)]


@pytest.mark.parametrize("config", [OPTIMAL, SHORT, PIPED, {}], ids=["optimal", "short", "piped", "empty"])
def test_every_row_has_answer_status_and_reason(config: str | dict[str, Any]) -> None:
    report = answered(config)
    assert report.framework == "seed"
    assert report.unknown_keys == []
    for row in report.seed_rules:
        assert row.answer in ("right", "conditional", "outdated", "wrong")
        assert row.status in ("fail", "warn", "pass", "unknown", "not_applicable")
        assert len(row.note) > 10


def test_an_empty_object_passes_nothing() -> None:
    assert set(statuses({}).values()) == {"unknown", "not_applicable"}
    report = answered({})
    assert report.findings == [] and report.summary["pass"] == 0


@pytest.mark.parametrize("config", [OPTIMAL, SHORT, PIPED, {}], ids=["optimal", "short", "piped", "empty"])
def test_what_no_setting_decides_is_not_applicable(config: str | dict[str, Any]) -> None:
    assert with_status(statuses(config), "not_applicable") >= UNDECIDABLE
    assert {row["id"] for row in index()["seed_rules"] if not row["checks"]} == UNDECIDABLE


def test_the_seeds_optimal_config() -> None:
    """Not 32 of 34: eleven rows are no setting's, six need another framework or engine, four lack a value."""
    report = answered(OPTIMAL)
    found = {row.id: row.status for row in report.seed_rules}
    assert Counter(found.values()) == {"pass": 16, "unknown": 3, "not_applicable": 17}
    assert with_status(found, "pass") == {
        "D02", "D06", "D07", "D14", "D17", "D19", "N01", "N02", "N03", "N04", "N06", "N07", "N13", "N14", "N15", "N16",
    }  # fmt: skip
    assert with_status(found, "unknown") == {"D01", "D11", "N17"}
    assert [(finding.rule, finding.severity) for finding in report.findings] == [("two-sharding-engines", "warning")]


def test_the_seeds_short_config() -> None:
    found = statuses(SHORT)
    assert with_status(found, "pass") == {"D02", "D06", "D07", "N01", "N03", "N06", "N07", "N15", "N16"}
    assert with_status(found, "fail") == with_status(found, "warn") == set()


def test_the_piped_config() -> None:
    found = statuses(PIPED)
    assert with_status(found, "pass") == {
        "D02", "D06", "D07", "D14", "D19", "N03", "N04", "N06", "N07", "N15", "N16"
    }  # fmt: skip
    assert with_status(found, "fail") == with_status(found, "warn") == set()


FLIPS = [
    ("D01", {"zero_stage": 1}, {"zero_stage": 3, "num_gpus": 1}, "warn"),
    ("D02", {"gradient_clipping": 1.0}, {"gradient_clipping": 0.0}, "warn"),
    ("D06", {"fsdp_mode": "fsdp1"}, {"fsdp_mode": "fsdp2"}, "warn"),
    ("D07", {"group_size": 8}, {"group_size": 3}, "warn"),
    ("D07", {"group_size": 8}, {"group_size": 1}, "fail"),
    ("D08", {"rollout_engine": "vllm", "lora_rank": 32}, {"rollout_engine": "vllm", "lora_rank": 1024}, "warn"),
    ("D11", {"ulimit": 65535}, {"ulimit": 1024}, "warn"),
    ("D14", {"sleep_level": 1}, {"sleep_level": 2, "lora_rank": 32, "rollout_engine": "vllm"}, "warn"),
    ("D17", {"gating_dtype": "fp32"}, {"gating_dtype": "bf16", "use_moe": True}, "warn"),
    ("D19", {"sleep_level": 1}, {"sleep_level": 2, "lora_rank": 32, "rollout_engine": "vllm"}, "warn"),
    ("N01", {"zero_stage": 2}, {"zero_stage": 3, "num_gpus": 1}, "warn"),
    ("N02", {"optimizer": "adamw"}, {"optimizer": "muon", "gradient_clipping": 1.0, "zero_stage": 2}, "warn"),
    ("N03", {"overlap_comm": False}, {"overlap_comm": True, "num_gpus": 1}, "warn"),
    ("N04", {"sleep_level": 1}, {"sleep_level": 2, "lora_rank": 32, "rollout_engine": "vllm"}, "warn"),
    ("N05", {"rollout_engine": "vllm", "lora_rank": 64}, {"rollout_engine": "vllm", "lora_rank": 1024}, "warn"),
    ("N06", {"fsdp_mode": "fsdp1"}, {"fsdp_mode": "fsdp2"}, "warn"),
    ("N07", {"group_size": 2}, {"group_size": 1}, "fail"),
    ("N13", {"optimizer": "adam"}, {"optimizer": "chained_muon_adam", "clip_grad": 1.0, "zero_stage": 1}, "warn"),
    ("N14", {"use_moe": True, "model_dtype": "bf16"}, {"use_moe": True, "gating_dtype": "fp16"}, "warn"),
    ("N15", {"torch_compile": False}, {"torch_compile": True, "overlap_comm": True, "zero_stage": 2}, "warn"),
    ("N16", {"gradient_clipping": 1.0}, {"gradient_clipping": 0.0}, "warn"),
    ("N17", {"bf16": True, "fp16": False}, {"bf16": True, "fp16": True}, "fail"),
]


@pytest.mark.parametrize(("row", "right", "wrong", "status"), FLIPS, ids=lambda value: str(value)[:40])
def test_a_row_flips_with_its_value(row: str, right: dict[str, Any], wrong: dict[str, Any], status: str) -> None:
    assert (statuses(right)[row], statuses(wrong)[row]) == ("pass", status)


def test_every_row_that_the_format_decides_is_among_the_flips() -> None:
    flat = {rule["id"] for rule in index()["rules"] if "seed" in rule["frameworks"]}
    decided = {row["id"] for row in index()["seed_rules"] if flat & set(row["checks"])}
    assert decided - {row for row, *_ in FLIPS} == {"N08"}  # needs the GPU: next test


def test_a_critic_is_judged_on_a_known_card() -> None:
    assert statuses({"use_critic": True}, gpu="RTX 4090")["N08"] == "warn"
    assert statuses({"use_critic": True}, gpu="H100")["N08"] == "pass"
    assert statuses({"use_critic": False}, gpu="RTX 4090")["N08"] == "not_applicable"


def test_clipping_off_is_right_for_muon() -> None:
    found = statuses({"optimizer": "muon", "gradient_clipping": 0.0, "zero_stage": 2})
    assert (found["N13"], found["N16"]) == ("pass", "pass")


def test_a_version_decides_the_recommended_pair() -> None:
    """ZeRO-2 with CPU Adam, which the seeds demand, lost gradients in 0.15.2 to 0.18.9."""
    config = {"zero_stage": 2, "optimizer": "cpu_adam", "gradient_accumulation_steps": 8, "num_gpus": 1}
    assert statuses(config, versions={"deepspeed": "0.18.9"})["D01"] == "fail"
    assert statuses(config, versions={"deepspeed": "0.19.0"})["D01"] == "pass"
    assert statuses(config)["D01"] == "warn"  # possible, and the version would decide it


def test_the_rows_are_answered_for_other_frameworks() -> None:
    """The same table over a ds_config and over a verl launch."""
    config = {
        "zero_optimization": {"stage": 2, "overlap_comm": True},
        "gradient_clipping": 0.0,
        "bf16": {"enabled": True},
    }
    deepspeed = statuses(config, world_size=1)
    assert (deepspeed["N16"], deepspeed["N03"], deepspeed["N01"], deepspeed["N07"]) == (
        "warn", "warn", "pass", "not_applicable"
    )  # fmt: skip
    launch = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1 "
        "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen3-8B"
    )
    verl = statuses(launch, versions={"verl": "0.9.0"})
    assert (verl["N07"], verl["N01"], verl["D01"]) == ("fail", "not_applicable", "not_applicable")
