"""The text beside the data: everything that a model needs to act, for clients that show it nothing else."""

from __future__ import annotations

from grpo_guard.model import Finding, Fix, Report, SeedRow, SettingRef, Undecided, UnknownKeyRow, to_dict
from grpo_guard.tools.validate_config import summarize

KEY = "actor_rollout_ref.rollout.n"


def test_every_part_of_a_report_is_a_line():
    report = Report(
        "verl",
        summary={"error": 1, "warning": 1, "info": 0, "pass": 3},
        findings=[
            Finding(
                "one-sample-groups",
                "error",
                "high",
                "Groups of one sample",
                f"{KEY} is 1.",
                setting=SettingRef("group_size", KEY, 1, "explicit", "run.sh", 12),
                fix=Fix(f"Set {KEY}=8."),
            ),
            Finding(
                "slow",
                "warning",
                "low",
                "Slow",
                "This is slow.",
                setting=SettingRef("mode", "rollout.mode", "sync", "default"),
            ),
            Finding("broken-continuation", "warning", "high", "Broken", "Arguments after it are lost."),
        ],
        unknown_keys=[UnknownKeyRow("trainer.nodes", "run.sh", 14, ["trainer.nnodes"], "not in verl 0.8.0")],
        batch={"prompts_per_step": 64, "samples_per_step": 64, "per_gpu": {"samples": 8}},
        undecided=[Undecided("world-size", ["trainer.nnodes", "trainer.n_gpus_per_node"])],
        seed_rules=[SeedRow("D07", "Group size", "right", "fail", ["one-sample-groups"], "found")],
        notes=["further arguments are taken"],
    )
    assert summarize(to_dict(report, "normal")).splitlines() == [
        "verl: 1 error, 1 warning, 0 info",
        f"error one-sample-groups run.sh:12: {KEY} is 1. Fix: Set {KEY}=8.",
        "warning slow rollout.mode: This is slow.",
        "warning broken-continuation: Arguments after it are lost.",
        "batch: prompts per step 64, samples per step 64",
        "unknown key run.sh:14 trainer.nodes: not in verl 0.8.0; did you mean trainer.nnodes?",
        "undecided world-size: needs trainer.nnodes, trainer.n_gpus_per_node",
        "D07 fail: found",
        "note: further arguments are taken",
    ]


def test_a_report_of_nothing():
    assert summarize(to_dict(Report(""), "brief")) == "unknown framework: 0 error, 0 warning, 0 info"
