"""Advantages within a prompt's own group against advantages over the whole batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .case import Case, near

Rewards = NDArray[np.float64]
RATES = (0.9, 0.1)  # an easy and a hard prompt, equally frequent


def check() -> list[Case]:
    """What part of a batch advantage is the prompt's difficulty, and what it does to groups without a difference."""
    rewards = np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    mixed = rewards.T.reshape(2, 4)
    return [
        near(
            "rates 0.9 and 0.1: variance of a reward, within prompts, between",
            [0.25, 0.09, 0.16],
            variance_parts(RATES),
            1e-12,
        ),
        near(
            "share of a batch advantage's variance that is difficulty",
            0.64,
            variance_parts(RATES)[2] / variance_parts(RATES)[0],
            1e-12,
        ),
        near("four right answers to the easy prompt: advantages by group", [0.0] * 4, by_group(rewards)[0], 0.0),
        near("the same by batch", [0.375] * 4, by_batch(rewards)[0], 1e-12),
        near(
            "mean advantage of each prompt, by group and by batch",
            [0.0, 0.0, 0.375, -0.375],
            [*by_group(rewards).mean(axis=1), *by_batch(rewards).mean(axis=1)],
            1e-12,
        ),
        near(
            "hard prompt: right answer by group, by batch",
            [0.75, 0.375],
            [by_group(rewards)[1, 3], by_batch(rewards)[1, 3]],
            1e-12,
        ),
        near(
            "groups formed from the rows of two prompts: right answer to the easy prompt",
            0.5,
            by_group(mixed)[0, 0],
            1e-12,
        ),
        near(
            "expected gradient, rate 0.9: baseline 0.9 and 0.5",
            [0.09, 0.09],
            [expected(0.9, 0.9), expected(0.9, 0.5)],
            1e-12,
        ),
        near(
            "its variance, rate 0.9: baseline 0.9 and 0.5",
            [0.0576, 0.0144],
            [variance(0.9, 0.9), variance(0.9, 0.5)],
            1e-12,
        ),
        near(
            "its variance, rate 0.5: baseline 0.5 and 0.9", [0.0, 0.04], [variance(0.5, 0.5), variance(0.5, 0.9)], 1e-12
        ),
    ]


def by_group(rewards: Rewards) -> Rewards:
    """Rows are prompts."""
    return rewards - rewards.mean(axis=1, keepdims=True)


def by_batch(rewards: Rewards) -> Rewards:
    return rewards - rewards.mean()


def variance_parts(rates: tuple[float, ...]) -> tuple[float, float, float]:
    """Of a 0/1 reward: in all, within a prompt on average, between prompts."""
    rate = np.array(rates)
    within, between = float((rate * (1 - rate)).mean()), float(rate.var())
    total = float(rate.mean() * (1 - rate.mean()))
    return total, within, between


def expected(rate: float, baseline: float) -> float:
    """Gradient for the logit of a coin, reward 1 for a success, constant baseline."""
    return rate * (1 - baseline) * (1 - rate) + (1 - rate) * baseline * rate


def variance(rate: float, baseline: float) -> float:
    square = rate * ((1 - baseline) * (1 - rate)) ** 2 + (1 - rate) * (baseline * rate) ** 2
    return square - expected(rate, baseline) ** 2
