"""Signal to noise of the group gradient against the group size, on the smallest policy that has one: a coin with
success rate p whose logit is trained, reward 1 for a success. Moments are exact sums over the number of successes;
sampled groups stand beside them."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from .case import Case, near

RATE = 0.3
GROUPS = 40_000


def check() -> list[Case]:
    """What grows with the group, what the baseline costs, and what does not change it."""
    signal = RATE * (1 - RATE)
    cases = [near("G = 1, no baseline: SNR", 0.6547, snr(1, "none"), 1e-3)]
    cases += [
        near(
            f"G = {group}, no baseline: SNR over that of G = 1", sqrt(group), snr(group, "none") / snr(1, "none"), 1e-9
        )
        for group in (4, 16)
    ]
    for group in (2, 8):
        cases += [
            near(
                f"G = {group}, mean baseline: mean gradient", signal * (1 - 1 / group), moments(group, "mean")[0], 1e-9
            ),
            near(f"G = {group}, leave-one-out: mean gradient", signal, moments(group, "leave_one_out")[0], 1e-9),
            near(
                f"G = {group}: SNR of leave-one-out over mean baseline",
                1.0,
                snr(group, "leave_one_out") / snr(group, "mean"),
                1e-9,
            ),
            near(f"G = {group}: Var(A) over Var(r)", 1 - 1 / group, _advantage_variance(group) / signal, 1e-9),
        ]
    cases += [
        near(
            "G = 2, 4, 8, 16, mean baseline: SNR, sampled",
            [snr(group, "mean") for group in (2, 4, 8, 16)],
            [sampled_snr(group) for group in (2, 4, 8, 16)],
            0.06,
        ),
        near(
            "G = 8, reward + 0, 1, 5, no baseline: SNR",
            [1.8516, 0.7624, 0.2274],
            [snr(8, "none", plus) for plus in (0, 1, 5)],
            1e-4,
        ),
        near("G = 8, reward + 5, mean baseline: SNR over that without", 1.0, snr(8, "mean", 5) / snr(8, "mean"), 1e-9),
    ]
    return cases


def advantages(success: float, failure: float, successes: int, group: int, baseline: str) -> tuple[float, float]:
    """Of a successful and a failed sample, in a group with that many successes."""
    mean = (successes * success + (group - successes) * failure) / group
    if baseline == "none":
        return success, failure
    scale = group / (group - 1) if baseline == "leave_one_out" else 1.0
    return (success - mean) * scale, (failure - mean) * scale


def gradient(successes: int, group: int, baseline: str, plus: float = 0.0) -> float:
    """Mean of advantage times score over the group; the score of a coin's logit is (outcome - p)."""
    up, down = advantages(1 + plus, plus, successes, group, baseline)
    return (successes * up * (1 - RATE) - (group - successes) * down * RATE) / group


def moments(group: int, baseline: str, plus: float = 0.0) -> tuple[float, float]:
    """Mean and standard deviation of the group gradient."""
    chances = [comb(group, k) * RATE**k * (1 - RATE) ** (group - k) for k in range(group + 1)]
    values = [gradient(k, group, baseline, plus) for k in range(group + 1)]
    mean = sum(chance * value for chance, value in zip(chances, values, strict=True))
    return mean, sqrt(sum(chance * (value - mean) ** 2 for chance, value in zip(chances, values, strict=True)))


def snr(group: int, baseline: str, plus: float = 0.0) -> float:
    mean, spread = moments(group, baseline, plus)
    return mean / spread


def draws(group: int) -> NDArray[np.float64]:
    return (np.random.default_rng(group).random((GROUPS, group)) < RATE).astype(float)


def sampled_snr(group: int) -> float:
    rewards = draws(group)
    gradients = ((rewards - rewards.mean(axis=1, keepdims=True)) * (rewards - RATE)).mean(axis=1)
    return float(gradients.mean() / gradients.std())


def _advantage_variance(group: int) -> float:
    """Variance of r - mean(group) over a sample, exactly."""
    total = 0.0
    for k in range(group + 1):
        up, down = advantages(1.0, 0.0, k, group, "mean")
        chance = comb(group, k) * RATE**k * (1 - RATE) ** (group - k)
        total += chance * (k * up**2 + (group - k) * down**2) / group
    return total
