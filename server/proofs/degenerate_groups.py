"""Groups in which every reward is the same, and so every advantage zero."""

from __future__ import annotations

from itertools import product
from math import exp, lgamma, sqrt

import numpy as np

from .case import Case, near

GROUPS = 20_000


def check() -> list[Case]:
    """The closed form against all outcomes counted, sampled groups, and success rates that differ by prompt."""
    cases = [
        near(f"p = {rate}, G = {group}: share of uniform groups", expected, probability(rate, group), 5e-5)
        for rate, group, expected in (
            (0.3, 4, 0.2482),
            (0.3, 8, 0.0577),
            (0.3, 16, 0.0033),
            (0.1, 8, 0.4305),
            (0.9, 8, 0.4305),
            (0.05, 16, 0.4401),
        )
    ]
    return [
        *cases,
        near("p = 0.3, G = 8: all 256 outcomes counted", 0.05771, counted(0.3, 8), 1e-5),
        near("p = 0.3, G = 8: 20,000 sampled groups", 0.0577, sampled(0.3, 8), 0.006),
        near(
            "p uniform over prompts, G = 4, 8, 16: 2/(G+1)",
            [2 / (group + 1) for group in (4, 8, 16)],
            [over_prompts(1.0, 1.0, group) for group in (4, 8, 16)],
            1e-9,
        ),
        near("p ~ Beta(0.5, 0.5), G = 8", 0.393, over_prompts(0.5, 0.5, 8), 5e-4),
        near(
            "p ~ Beta(2, 3), G = 8: closed form against the integral",
            integrated(2.0, 3.0, 8),
            over_prompts(2.0, 3.0, 8),
            1e-5,
        ),
        near("G = 8, one success: advantages of success and failure", [2.6458, -0.378], advantages(1, 8), 1e-3),
        near("G = 8, four successes", [1.0, -1.0], advantages(4, 8), 1e-9),
    ]


def probability(rate: float, group: int) -> float:
    """All right or all wrong."""
    return rate**group + (1 - rate) ** group


def counted(rate: float, group: int) -> float:
    """The same by going through every outcome of the group."""
    chances = [
        np.prod([rate if won else 1 - rate for won in outcome])
        for outcome in product((0, 1), repeat=group)
        if uniform(outcome)
    ]
    return float(sum(chances))


def uniform(outcome: tuple[int, ...]) -> bool:
    return len(set(outcome)) == 1


def sampled(rate: float, group: int) -> float:
    won = (np.random.default_rng(0).random((GROUPS, group)) < rate).sum(axis=1)
    return float(((won == 0) | (won == group)).mean())


def over_prompts(a: float, b: float, group: int) -> float:
    """With success rates of prompts distributed as Beta(a, b)."""
    return (beta(a + group, b) + beta(a, b + group)) / beta(a, b)


def beta(a: float, b: float) -> float:
    return exp(lgamma(a) + lgamma(b) - lgamma(a + b))


def integrated(a: float, b: float, group: int) -> float:
    rates = (np.arange(20_000) + 0.5) / 20_000
    weights = rates ** (a - 1) * (1 - rates) ** (b - 1)
    return float((weights * (rates**group + (1 - rates) ** group)).sum() / weights.sum())


def advantages(successes: int, group: int) -> tuple[float, float]:
    """Of a success and a failure, by the population standard deviation."""
    rate = successes / group
    spread = sqrt(rate * (1 - rate))
    return (1 - rate) / spread, -rate / spread
