"""Over the golden files of all rules: the fixes that are data mend the file that fires, or say why not."""

from __future__ import annotations

import shlex
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from grpo_guard.edits.patch import Patch
from grpo_guard.edits.run import fix_run
from grpo_guard.store.index import index

CASES = Path(__file__).parents[1] / "cases" / "rules"
# Their one edit is right only together with another setting, so that validating again refuses it
REFUSED = {
    "mini-batch-not-divisible-by-ranks": "the edit brings up",
    "sequence-parallel-does-not-divide-gpus": "the edit brings up",
    "openrlhf-uneven-ranks": "the edit brings up",
}


def options_of(path: Path) -> dict[str, object]:
    """Versions and world size of a golden file, from its comment or the file beside it."""
    beside = path.with_suffix(".options")
    text = beside.read_text() if beside.exists() else path.read_text()
    words = [word for line in text.splitlines() if "grpo-guard-test:" in line or beside.exists()
             for word in shlex.split(line.partition("grpo-guard-test:")[2] or line)]  # fmt: skip
    pairs = list(pairwise(words))
    versions = dict(value.split("=", 1) for name, value in pairs if name == "--version")
    world = next((int(value) for name, value in pairs if name == "--world-size"), None)
    gpu = next((value for name, value in pairs if name == "--gpu"), "")
    return {"versions": versions, "world_size": world, "gpu": gpu}


def rules_with_edits() -> list[str]:
    return [rule["id"] for rule in index()["rules"] if {"edits", "remove"} & set(rule.get("fix") or {})]


@pytest.fixture(scope="module")
def patches() -> dict[str, list[Patch]]:
    found = defaultdict(list)
    for rule in rules_with_edits():
        for path in sorted((CASES / rule).glob("fires*")):
            if path.suffix != ".options":
                found[rule].append(fix_run([path], options_of(path), unsafe=True).patch)
    return found


@pytest.mark.parametrize("rule", rules_with_edits())
def test_the_fix_of_a_rule_mends_a_file_that_fires(patches: dict[str, list[Patch]], rule: str) -> None:
    edited = [patch for patch in patches[rule] if any(row.rule == rule for row in patch.edits)]
    reasons = {row.reason for patch in patches[rule] for row in patch.skipped if row.rule == rule}
    if rule in REFUSED:
        assert reasons and not edited
        assert all(reason.startswith(REFUSED[rule]) for reason in reasons)
    else:
        assert edited, reasons
    for patch in edited:
        assert rule not in [finding.rule for finding in patch.report.findings]


def test_nothing_safe_is_about_what_training_computes() -> None:
    """Each safe fix is named here, so that a new one is looked at: it mends a launch that stops, or takes out a key
    that nothing reads."""
    safe = {rule["id"] for rule in index()["rules"] if (rule.get("fix") or {}).get("safety") == "safe"}
    assert safe == {
        # the launch stops without it
        "bypass-without-rollout-log-probs", "fused-kernels-without-packing", "layered-summon-with-dummy-load",
        "nemo-rl-log-prob-chunks", "openrlhf-async-sleep", "router-replay-without-rollout-routes",
        "sequence-parallel-without-packing", "sync-rollout-mode-removed",
        # nothing reads the key, or what it does has no effect
        "grad-overflow-check-without-effect", "openrlhf-gamma-ignored", "overlap-comm-on-one-gpu",
        "trl-gather-setting-unused-with-vllm", "weight-sync-backend-ignored",
    }  # fmt: skip
