"""What each fault gives, in a run that is healthy otherwise. `curves` overrides single metrics of such a run."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping

import pytest

from grpo_guard.diagnosis.signals import LogSignal, detect
from grpo_guard.logs import read_logs
from grpo_guard.store import signals

Curve = Callable[[float, random.Random], float | None]
STEPS = 200

HEALTHY: dict[str, Curve] = {
    "reward": lambda part, dice: 0.2 + 0.4 * part + dice.gauss(0, 0.02),
    "reward_std": lambda part, dice: 0.4,
    "frac_reward_zero_std": lambda part, dice: 0.3,
    "entropy": lambda part, dice: 0.6 - 0.3 * part + dice.gauss(0, 0.01),
    "kl": lambda part, dice: 0.1 * part,
    "grad_norm": lambda part, dice: 0.3 * math.exp(dice.gauss(0, 0.1)),
    "loss": lambda part, dice: dice.gauss(0, 0.02),
    "completions/mean_length": lambda part, dice: 500 + 50 * part + dice.gauss(0, 10),
    "completions/clipped_ratio": lambda part, dice: 0.02,
    "clip_ratio/region_mean": lambda part, dice: 0.02 + dice.gauss(0, 0.001),
    "step_time": lambda part, dice: 40 + dice.gauss(0, 1),
}


def run(curves: Mapping[str, Curve] | None = None, steps: int = STEPS, *, without: tuple[str, ...] = ()) -> str:
    dice = random.Random(0)
    found = {name: curve for name, curve in {**HEALTHY, **(curves or {})}.items() if name not in without}
    lines = []
    for step in range(1, steps + 1):
        values = {name: curve(step / steps, dice) for name, curve in found.items()}
        lines.append(json.dumps({"step": step} | {name: value for name, value in values.items() if value is not None}))
    return "\n".join(lines) + "\n"


def seen(log: str) -> dict[str, LogSignal]:
    return {signal.id: signal for signal in detect(read_logs([log]))}


def loud(log: str) -> dict[str, str]:
    return {signal.id: signal.severity for signal in seen(log).values() if signal.severity != "info"}


def rising_score(part: float, dice: random.Random) -> float | None:
    return 0.3 + 0.3 * part + dice.gauss(0, 0.01) if round(part * STEPS) % 10 == 0 else None


def test_the_healthy_run_is_silent():
    assert loud(run()) == {}
    assert "all_normal" in seen(run())


def flat_after(part: float, start: float, end: float, at: float, dice: random.Random) -> float:
    return start + (end - start) * min(1.0, part / at) + dice.gauss(0, 0.02)


def plateau(part: float, dice: random.Random) -> float:
    return flat_after(part, 0.2, 0.5, 0.2, dice)


def grown(start: float, end: float) -> Curve:
    return lambda part, dice: start + (end - start) * part


def score_that_falls(part: float, dice: random.Random) -> float | None:
    score = 0.3 + 0.2 * min(part, 0.3) / 0.3 - 0.3 * max(0.0, part - 0.3)
    return score if round(part * STEPS) % 10 == 0 else None


def broken(start: float, value: float, before: float) -> Curve:
    return lambda part, dice: value if part > start else before


FAULTS: dict[str, tuple[dict[str, Curve], dict[str, str]]] = {
    "the gradient norm is NaN": (
        {"grad_norm": lambda part, dice: math.nan if part > 0.5 else 0.3},
        {"nonfinite_grad_norm": "error"},
    ),
    "KL and loss are infinite": (
        {"kl": broken(0.9, math.inf, 0.1), "loss": broken(0.95, math.nan, 0.0)},
        {"nonfinite_kl": "error", "nonfinite_loss": "error"},
    ),
    "entropy runs out on a plateau": (
        {"reward": plateau, "entropy": lambda part, dice: 0.6 * math.exp(-8 * part) + 0.002},
        {"entropy_collapse": "error", "reward_plateau": "warning"},
    ),
    "entropy rises on a plateau": (
        {"reward": plateau, "entropy": lambda part, dice: 0.5 + 3 * part},
        {"entropy_rise": "warning", "reward_plateau": "warning"},
    ),
    "the norm grows tenfold and more": (
        {"grad_norm": lambda part, dice: 0.3 * math.exp(3.5 * part)},
        {"grad_norm_growth": "warning"},
    ),
    "spikes": (
        {"grad_norm": lambda part, dice: 30.0 if round(part * STEPS) in (50, 90, 130, 170) else 0.3},
        {"grad_norm_spikes": "warning"},
    ),
    "no gradient though groups differ": ({"grad_norm": lambda part, dice: 0.0}, {"grad_zero_lost": "error"}),
    "no gradient since no group differs": (
        {"grad_norm": lambda part, dice: 0.0, "frac_reward_zero_std": lambda part, dice: 1.0},
        {"grad_zero_no_signal": "warning", "groups_uniform": "warning"},
    ),
    "every reward is zero": ({"reward": lambda part, dice: 0.0}, {"reward_all_zero": "error"}),
    "every reward is the same": ({"reward": lambda part, dice: 0.25}, {"reward_constant": "error"}),
    "the reward is flat": ({"reward": lambda part, dice: 0.3 + dice.gauss(0, 0.02)}, {"reward_flat": "warning"}),
    "the reward breaks down": (
        {"reward": lambda part, dice: (0.2 + 0.6 * part if part < 0.7 else 0.05) + dice.gauss(0, 0.02)},
        {"reward_drop": "error"},
    ),
    "groups are all right": (
        {"reward": lambda part, dice: min(1.0, 0.5 + 0.6 * part), "frac_reward_zero_std": grown(0.3, 0.9)},
        {"groups_too_easy": "warning"},
    ),
    "groups are all wrong": (
        {"reward": lambda part, dice: 0.01 + 0.02 * part, "frac_reward_zero_std": lambda part, dice: 0.9},
        {"groups_too_hard": "warning"},
    ),
    "the held-out score falls": (
        {"eval/accuracy": score_that_falls},
        {"reward_eval_split": "error"},
    ),
    "one function owns the variance": (
        {
            "rewards/format/mean": lambda part, dice: 0.95 + dice.gauss(0, 0.1),
            "rewards/correct/mean": lambda part, dice: 0.02 + dice.gauss(0, 0.005),
        },
        {"component_dominates": "warning"},
    ),
    "KL runs away": (
        {"reward": plateau, "kl": lambda part, dice: 0.02 + 5 * part**3},
        {"kl_growth": "warning", "reward_plateau": "warning"},
    ),
    "half of the tokens are clipped": ({"clip_ratio/region_mean": grown(0.5, 0.5)}, {"clip_saturated": "warning"}),
    "KL before the first update": ({"kl": lambda part, dice: 0.5}, {"kl_at_start": "warning"}),
    "engine and trainer disagree from the start": (
        {"training/rollout_probs_diff_mean": lambda part, dice: 0.03 + dice.gauss(0, 0.001)},
        {"gap_high": "warning"},
    ),
    "engine and trainer drift apart": (
        {"training/rollout_probs_diff_mean": lambda part, dice: 0.002 + 0.05 * part},
        {"gap_grows": "error"},
    ),
    "engine and trainer part at a step": (
        {"training/rollout_probs_diff_mean": broken(0.5, 0.08, 0.002)},
        {"gap_jump": "error"},
    ),
    "the importance ratio is far from one": (
        {"sampling/importance_sampling_ratio/mean": lambda part, dice: 1.8 + dice.gauss(0, 0.02)},
        {"gap_high": "warning"},
    ),
    "answers run to the limit": ({"completions/clipped_ratio": lambda part, dice: 1.0}, {"length_at_cap": "error"}),
    "more and more answers are cut": (
        {"completions/clipped_ratio": lambda part, dice: 0.02 + 0.5 * part},
        {"length_cap_rising": "warning"},
    ),
    "answers grow for nothing": (
        {"reward": plateau, "completions/mean_length": lambda part, dice: 400 + 1600 * part},
        {"length_growth": "warning", "reward_plateau": "warning"},
    ),
    "memory is not given back": (
        {"perf/max_memory_allocated_gb": grown(40, 70), "perf/cpu_memory_used_gb": grown(200, 600)},
        {"gpu_memory_growth": "warning", "host_memory_growth": "warning"},
    ),
    "steps take longer and longer": ({"step_time": grown(40, 120)}, {"step_time_growth": "warning"}),
    "the learning rate is zero": ({"learning_rate": broken(0.5, 0.0, 1e-6)}, {"learning_rate_zero": "warning"}),
    "the draft is lost": ({"spec_accept_length": broken(0.006, 1.0, 2.9)}, {"draft_lost": "warning"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name):
    curves, wanted = FAULTS[name]
    assert loud(run(curves)) == wanted


QUIET: dict[str, dict[str, Curve]] = {
    "entropy falls far while the reward rises": {"entropy": lambda part, dice: 0.6 * math.exp(-4 * part) + 0.01},
    "entropy rises while the reward rises": {"entropy": lambda part, dice: 0.3 + 0.6 * part},
    "answers grow with the reward": {"completions/mean_length": lambda part, dice: 400 + 2000 * part},
    "answers grow with the held-out score": {
        "completions/mean_length": lambda part, dice: 400 + 2000 * part,
        "eval/accuracy": rising_score,
    },
    "KL grows moderately": {"kl": lambda part, dice: 0.8 * part},
    "the norm doubles": {"grad_norm": lambda part, dice: 0.3 + 0.3 * part},
    "the norm triples with progress": {"grad_norm": lambda part, dice: 0.3 + 0.7 * part},
    "single outliers": {"grad_norm": lambda part, dice: 3.0 if round(part * STEPS) in (60, 140) else 0.3},
    "the rate warms up and decays to zero": {"learning_rate": lambda part, dice: 1e-6 * min(1, 20 * part) * (1 - part)},
    "a score that is logged at some steps": {"eval/accuracy": rising_score},
    "memory fills up once": {"perf/max_memory_allocated_gb": lambda part, dice: 40 + 20 * min(1.0, part / 0.1)},
    "longer answers take longer": {
        "completions/mean_length": lambda part, dice: 400 + 800 * part,
        "step_time": lambda part, dice: 40 + 80 * part,
    },
    "a reward function that judged nothing": {"rewards/code/mean": lambda part, dice: math.nan},
    "the gap is normal": {"training/rollout_probs_diff_mean": lambda part, dice: 0.003 + dice.gauss(0, 0.0003)},
    "a near perfect reward stays": {
        "reward": lambda part, dice: min(1.0, 0.96 + dice.gauss(0, 0.01)),
        "frac_reward_zero_std": lambda part, dice: 0.45,
    },
}


@pytest.mark.parametrize("name", QUIET)
def test_not_a_fault(name):
    assert loud(run(QUIET[name])) == {}


def test_onset_and_evidence_of_a_nan():
    signal = seen(run({"grad_norm": lambda part, dice: math.nan if part > 0.5 else 0.3}))["nonfinite_grad_norm"]
    assert (signal.step, signal.line, signal.source, signal.metric) == (101, 101, "metric", "grad_norm")
    assert (
        signal.evidence
        == "grad_norm is nan at step 101 (100 of 200 values are not finite); last finite value 0.3 at step 100"
    )
    assert signal.symptoms == ["nan_grad_norm"]


def test_which_metric_broke_first():
    curves = {
        "kl": lambda part, dice: math.nan if part > 0.4 else 0.1,
        "grad_norm": lambda part, dice: math.nan if part > 0.5 else 0.3,
    }
    assert "broke before grad_norm" in seen(run(curves))["nonfinite_kl"].evidence


def test_growth_before_a_nan_is_told():
    curves = {"grad_norm": lambda part, dice: math.nan if part > 0.8 else 0.3 * math.exp(10 * max(0.0, part - 0.4))}
    assert {"nonfinite_grad_norm", "nonfinite_after_growth"} <= set(seen(run(curves)))


def test_loss_zero_and_no_clipping_are_expected():
    curves = {"loss": lambda part, dice: 1e-8, "clip_ratio/region_mean": lambda part, dice: 0.0}
    found = seen(run(curves))
    assert {"loss_zero_normal", "clip_zero_normal"} <= set(found)
    assert found["loss_zero_normal"].patterns == {"expected_behaviour": 0.6}


def test_loss_zero_is_not_excused_when_gradients_are_lost():
    curves = {"loss": lambda part, dice: 0.0, "grad_norm": lambda part, dice: 0.0}
    assert "loss_zero_normal" not in seen(run(curves))


def test_a_run_that_was_resumed():
    first, second = run(steps=100).splitlines(), run(steps=100).splitlines()
    assert seen("\n".join([*first, *second[60:]]))["resumed"].step == 61


def test_out_of_memory_by_phase():
    log = (
        "Traceback (most recent call last):\n"
        '  File "/x/verl/workers/fsdp_workers.py", line 1, in update_actor\n'
        "torch.OutOfMemoryError: CUDA out of memory.\n"
    )
    (signal,) = seen(log).values()
    assert (signal.id, signal.severity, signal.source, signal.line) == ("oom_update", "error", "log", 3)
    assert signal.evidence.endswith("(phase: update); at fsdp_workers.py:update_actor")


def test_an_exception_that_the_run_lived_through_is_information():
    raised = "Traceback (most recent call last):\nValueError: no answer found\n"
    lines = run(steps=40).splitlines()
    assert seen(raised)["exception"].severity == "error"
    lived = seen("\n".join([*lines[:10], raised.strip(), *lines[10:]]))["exception"]
    assert (lived.severity, lived.step) == ("info", 10)
    assert lived.evidence == "ValueError: no answer found; the run went on to step 40"


def test_what_a_destructor_raised_is_nothing():
    raised = "Exception ignored in: <function f>\nTraceback (most recent call last):\nTypeError: x\n"
    assert seen(raised + "FutureWarning: y is old\n") == {}


def test_an_exception_that_only_reports_a_crash_is_left_out():
    log = "[rank1] Watchdog caught collective operation timeout: WorkNCCL\nRuntimeError: worker failed\n"
    assert set(seen(log)) == {"collective_timeout"}


def test_every_signal_of_the_detectors_has_an_entry_and_a_source():
    for name, row in signals.data()["signals"].items():
        assert row["source"] in signals.data()["sources"], name
        assert all(0 < weight <= 1 for weight in row["patterns"].values()), name
