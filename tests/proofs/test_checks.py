"""Every check passes, and every case of it fails when the formula or the input behind it is broken."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from grpo_guard.proofs.answer import run
from grpo_guard.proofs.case import near, same
from grpo_guard.store import lookup as store

FOLDER = Path(__file__).parents[2] / "server" / "proofs"
HELPERS = ("__init__", "answer", "case", "product", "qwen")
PROOFS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in HELPERS)

# What is broken, one at a time: attribute of the module, and what stands in its place. All of them together make every
# case of the proof fail, each of them at least one.
BROKEN: dict[str, list[tuple[str, Any]]] = {
    "bypass_mode": [
        ("exp", lambda gap: 1 + gap),
        ("ratios", lambda policy, engine, bypass: policy / engine * (1.0 if bypass else 1.1)),
        ("ratios", lambda policy, engine, bypass: np.ones(5) if bypass else policy / engine),
        ("gradient", lambda policy, sampled, factor: sampled * factor),
        ("kept", lambda ratio: ratio),
        ("outside", lambda noise: noise),
        ("sampled_outside", lambda noise: 0.0),
        ("saved", lambda training, reference: 0.5),
        ("GIB", 1e9),
        ("PARAMETERS", 7.0e9),
        ("peak", lambda bypass: 17.0 if bypass else 30.0),
    ],
    "clipped_loss_memory": [
        ("CLAIMED", {"actor": 14, "Adam": 84}),
        ("adam", lambda master: 4),
        ("loss_bytes", lambda tokens, tensors: 2**34),
        ("full", lambda parameters, critic=False: 65.06),
        ("surrogate", lambda ratio, advantage: ratio * advantage),
    ],
    "degenerate_groups": [
        ("probability", lambda rate, group: rate**group),
        ("probability", lambda rate, group: (1 - rate) ** group),
        ("uniform", lambda outcome: sum(outcome) == len(outcome)),
        ("sampled", lambda rate, group: 0.046),
        ("beta", lambda a, b: a * b),
        ("over_prompts", lambda a, b, group: 0.046),
        ("advantages", lambda successes, group: (1 - successes / group, -successes / group)),
    ],
    "gradient_clipping": [
        ("factor", lambda total, limit: limit / (total + 2)),
        ("factor", lambda total, limit: 1.0 if np.isfinite(total) else 0.5),
        ("clipped", lambda gradient, limit: np.clip(gradient, -limit, limit)),
        ("clipped", lambda gradient, limit: np.nan_to_num(gradient)),
        ("adam", lambda gradients: sum(gradients)),
        ("norm", lambda vector: float(np.abs(np.nan_to_num(vector, posinf=1.0)).max())),
    ],
    "group_by_prompt": [
        ("by_group", lambda rewards: rewards),
        ("by_group", lambda rewards: rewards - rewards.mean()),
        ("by_batch", lambda rewards: rewards - rewards.mean(axis=1, keepdims=True)),
        ("variance_parts", lambda rates: (0.25, 0.25, 0.0)),
        ("expected", lambda rate, baseline: rate * (1 - baseline)),
        ("variance", lambda rate, baseline: rate * (1 - rate)),
    ],
    "group_size_one": [
        ("verl", lambda rewards, by_std=True: rewards - rewards.mean()),
        ("verl", lambda rewards, by_std=True: rewards - 1.0),
        ("verl", lambda rewards, by_std=True: rewards),
        ("rllm", lambda rewards: 0 * rewards),
        ("trl", lambda rewards, training=True: rewards),
        ("openrlhf", lambda rewards: rewards),
        ("unguarded", lambda rewards: 0 * rewards),
    ],
    "group_size_snr": [
        ("RATE", 0.4),
        ("advantages", lambda success, failure, successes, group, baseline: (success, failure)),
        ("moments", lambda group, baseline, plus=0.0: (group + plus, 1.0 + (baseline == "mean"))),
        ("snr", lambda group, baseline, plus=0.0: group + plus + (baseline == "mean")),
        ("sampled_snr", lambda group: group**0.5),
    ],
    "half_precision_softmax": [
        ("log", lambda value: value),
        ("_exp", lambda value: float(np.exp(np.float64(value)))),
        ("naive", lambda logits: np.array([1.0, 0.0, 0.0])),
        ("shifted", lambda row: row),
        ("stable", lambda logits, dtype=None: np.full(4, 0.25)),
        ("dot", lambda dtype: 65504.0),
        ("bfloat16", lambda value: value),
    ],
    "kl_estimators": [
        ("k1", lambda log_ratio: np.abs(log_ratio)),
        ("k2", lambda log_ratio: log_ratio**2),
        ("k3", lambda log_ratio: np.exp(log_ratio) - 2 - log_ratio),
        ("means", lambda mu: (mu, mu, mu)),
        ("spreads", lambda mu: (mu**2, mu**2, mu**2)),
        ("loss_gradient", lambda name: np.full(5, 0.3)),
        ("kl_gradients", lambda: (np.ones(5), np.ones(5))),
        ("_k3", lambda log_ratio, clamped=False: float(np.exp(log_ratio))),
    ],
    "lora_scaling": [
        ("scale", lambda alpha, rank, stabilised=False: 1.0),
        ("scale", lambda alpha, rank, stabilised=False: 1 / rank),
        ("first_update", lambda gradient: gradient),
        ("_delta", lambda rank, alpha, stabilised=False, step=1.0: np.full((128, 128), 1.0 / rank)),
        ("adapter_parameters", lambda modules, rank: 29_360_128),
        ("norm", lambda alpha, rank, stabilised=False: float(rank)),
    ],
    "muon_clipping": [
        ("COEFFICIENTS", (1.5, -0.5, 0.0)),
        ("FLOOR", 1e-3),
        ("LOWER_FLOOR", 1e-7),
        ("normalised", lambda matrix, floor: matrix),
        ("coefficient", lambda norm, limit: 1.0),
        ("momentum", lambda gradients: gradients[-1]),
    ],
    "ratio_clipping": [
        ("clipped", lambda ratio, low, high: ratio),
        ("clipped", lambda ratio, low, high: 1.0),
        ("objective", lambda ratio, advantage, low=0.2, high=0.2, dual=0: ratio**2 * advantage),
        ("ratio_of", lambda gap: gap),
    ],
    "reward_shaping": [
        ("normalised", lambda rewards: rewards),
        ("centred", lambda rewards: rewards),
        ("noise", lambda shape: np.zeros(shape)),
        ("noise", lambda shape: np.ones(shape) * np.arange(shape[1])),
        ("RATE", 0.3),
    ],
    "stream_order": [
        ("PRODUCERS", (("write a", "finish a"),)),
        ("OWNER", (("allocate", "free"), ("free", "reuse"))),
        ("KERNELS", ()),
        ("early_read", lambda order: True),
        ("overwritten", lambda order: True),
        ("unmapped", lambda order: True),
        ("recorded", lambda stream: (("finish a", "read"), ("copy", "reuse")) if stream == "owner" else ()),
        ("recorded", lambda stream: (("finish a", "read"),)),
    ],
    "top_k_mismatch": [
        ("swap", lambda gap, noise: 1 - gap),
        ("top", lambda scores, chosen: np.zeros((len(scores), 1))),
        ("anywhere", lambda share, layers: share),
        ("ratio", lambda chosen, recorded, replay=False: 1.0 - replay),
        ("reward", lambda answer: int(answer == "5")),
    ],
    "weight_sync_size": [
        ("apart", lambda weight, a, b, x: weight @ x),
        ("scale_lost", lambda alpha, rank: 0.0),
        ("LINEAR", ((4096, 4096),)),
        ("adapter_bytes", lambda modules, rank=32: 200 * 2**20),
        ("lost", lambda update, rank: 0.1),
    ],
    "zero_memory": [
        ("STATES", {"weights": 4, "gradients": 4, "master": 4, "momentum": 4, "variance": 4}),
        ("SHARDED", dict.fromkeys(range(4), frozenset({"weights"}))),
        ("GIB", 1e9),
        ("all_reduce", lambda gradients: gradients[0] + gradients[-1]),
        ("OFFLOADABLE", {"optimizer": {1, 2, 3}, "param": {2}}),
    ],
}  # fmt: skip


def module_of(name: str) -> ModuleType:
    return import_module(f"grpo_guard.proofs.{name}")


def failing(module: ModuleType) -> set[int]:
    with np.errstate(all="ignore"):
        return {at for at, case in enumerate(module.check()) if not case.passed}


@pytest.mark.parametrize("name", PROOFS)
def test_the_check_passes(name):
    assert [case for case in module_of(name).check() if not case.passed] == []


@pytest.mark.parametrize("name, attribute, broken", [(name, *entry) for name in PROOFS for entry in BROKEN[name]])
def test_a_broken_premise_is_seen(name, attribute, broken, monkeypatch):
    monkeypatch.setattr(module_of(name), attribute, broken)
    assert failing(module_of(name))


@pytest.mark.parametrize("name", PROOFS)
def test_every_case_can_fail(name, monkeypatch):
    module = module_of(name)
    seen: set[int] = set()
    for attribute, broken in BROKEN[name]:
        with monkeypatch.context() as patch:
            patch.setattr(module, attribute, broken)
            seen |= failing(module)
    assert [case.input for at, case in enumerate(module.check()) if at not in seen] == []


@pytest.mark.parametrize("entry", store.proofs(), ids=lambda entry: entry["id"])
def test_the_same_bytes_each_time_but_for_the_seconds(entry):
    first, second = ({**run(entry), "seconds": 0} for _ in range(2))
    assert json.dumps(first, allow_nan=False) == json.dumps(second, allow_nan=False)


def test_a_failing_case_fails_the_check(monkeypatch):
    monkeypatch.setattr(module_of("degenerate_groups"), "probability", lambda rate, group: 0.046)
    (entry,) = (entry for entry in store.proofs() if entry["id"] == "degenerate-groups")
    assert run(entry)["pass"] is False


@pytest.mark.parametrize(
    "expected, got, tolerance, passes",
    [
        (1.0, 1.05, 0.1, True),
        (1.0, 1.2, 0.1, False),
        (1.0, float("nan"), 10, False),
        (float("nan"), float("nan"), 0, True),
        (float("inf"), float("inf"), 0, True),
        (float("inf"), float("-inf"), 1e9, False),
        (float("inf"), 1e308, 1e309, False),
        ([1.0, 2.0], [1.0, 2.0], 0, True),
        ([1.0, 2.0], [1.0], 5, False),
    ],
)
def test_what_counts_as_near(expected, got, tolerance, passes):
    assert near("", expected, got, tolerance).passed is passes


def test_words_and_counts_must_be_equal():
    assert same("", [24, 30], [24, 30]).passed
    assert not same("", "refused", np.array([0.0])).passed
