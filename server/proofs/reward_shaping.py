"""Shaped rewards under division by the group's standard deviation: ties go, and small differences grow to full size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .case import Case, near

Rewards = NDArray[np.float64]
GROUPS, SIZE, RATE = 8_000, 8, 0.05


def check() -> list[Case]:
    """Hard prompts (5 % right, groups of 8), with and without a random term of 0.001 in the reward."""
    won = outcomes()
    noisy = won + noise(won.shape)
    plain, shaped = normalised(won), normalised(noisy)
    uniform = won.std(axis=1) == 0
    return [
        near(
            "rewards 0.51, 0.50, 0.51, 0.50: advantages",
            [0.8660, -0.8660] * 2,
            normalised(np.array([[0.51, 0.5] * 2]))[0],
            2e-4,
        ),
        near("the same without division", [0.005, -0.005] * 2, centred(np.array([[0.51, 0.5] * 2]))[0], 1e-9),
        near(
            "uniform groups without the random term", 0.95**8 + 0.05**8, float((plain == 0).all(axis=1).mean()), 0.015
        ),
        near("uniform groups with it", 0.0, float((shaped == 0).all(axis=1).mean()), 0.0),
        near(
            "root mean square advantage in those groups, with it",
            float(np.sqrt(7 / 8)),
            float(np.sqrt((shaped[uniform] ** 2).mean())),
            0.01,
        ),
        near(
            "the same, not divided",
            0.001 * float(np.sqrt(7 / 8)),
            float(np.sqrt((centred(noisy)[uniform] ** 2).mean())),
            2e-5,
        ),
        near(
            "mean gradient of the success rate: random term over none",
            1.0,
            signal(shaped, won) / signal(plain, won),
            0.05,
        ),
        near(
            "its variance: random term over none",
            1 / (1 - 0.95**8 - 0.05**8),
            spread(shaped, won) / spread(plain, won),
            0.2,
        ),
    ]


def outcomes() -> Rewards:
    return (np.random.default_rng(0).random((GROUPS, SIZE)) < RATE).astype(float)


def noise(shape: tuple[int, ...]) -> Rewards:
    """A term that has nothing to do with the answer being right."""
    return np.random.default_rng(1).normal(0, 0.001, shape)


def centred(rewards: Rewards) -> Rewards:
    return rewards - rewards.mean(axis=1, keepdims=True)


def normalised(rewards: Rewards) -> Rewards:
    """As verl and TRL: sample standard deviation, small epsilon."""
    return centred(rewards) / (rewards.std(axis=1, ddof=1, keepdims=True) + 1e-6)


def gradients(advantages: Rewards, won: Rewards) -> Rewards:
    """Of each group, for the logit of the success rate, and, in one number each, for a feature that says nothing."""
    feature = np.random.default_rng(2).choice([-1.0, 1.0], won.shape)
    return np.stack([(advantages * (won - RATE)).mean(axis=1), (advantages * feature).mean(axis=1)])


def signal(advantages: Rewards, won: Rewards) -> float:
    return float(gradients(advantages, won)[0].mean())


def spread(advantages: Rewards, won: Rewards) -> float:
    """Variance along the feature that says nothing."""
    return float(gradients(advantages, won)[1].var())
