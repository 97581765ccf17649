"""The clipped objective of PPO and GRPO: value and slope in the ratio; dual clip, asymmetric bounds."""

from __future__ import annotations

from math import exp, inf

from .case import Case, near

STEP = 1e-6


def check() -> list[Case]:
    """[value, slope] at single points with bounds 0.2, and what the variants change."""
    points = ((1, 1.5, 1.2, 0), (1, 0.5, 0.5, 1), (-1, 0.5, -0.8, 0), (-1, 1.5, -1.5, -1), (-1, 50, -50, -1))
    cases = [
        near(
            f"A = {sign:+}, ratio {ratio}: [value, slope]",
            [value, slope],
            [objective(ratio, sign), tilt(ratio, sign)],
            1e-6,
        )
        for sign, ratio, value, slope in points
    ]
    return [
        *cases,
        near("A = -1, ratio 50, dual clip 3", [-3.0, 0.0], [objective(50, -1, dual=3), tilt(50, -1, dual=3)], 1e-6),
        near(
            "A = -1, ratio 2, dual clip 3 (not reached)",
            [-2.0, -1.0],
            [objective(2, -1, dual=3), tilt(2, -1, dual=3)],
            1e-6,
        ),
        near(
            "A = +1, ratio 50, dual clip 3 (for negative A only)",
            [1.2, 0.0],
            [objective(50, 1, dual=3), tilt(50, 1, dual=3)],
            1e-6,
        ),
        near(
            "A = +1, ratio 1.25, upper bound 0.2 and 0.28: slope",
            [0.0, 1.0],
            [tilt(1.25, 1), tilt(1.25, 1, high=0.28)],
            1e-6,
        ),
        near("first update, ratio 1, A = -1, +1: slope is A", [-1.0, 1.0], [tilt(1.0, -1), tilt(1.0, 1)], 1e-6),
        near(
            "log-prob gap 0.3: ratio and slope at A = +1", [1.34986, 0.0], [ratio_of(0.3), tilt(ratio_of(0.3), 1)], 1e-5
        ),
        near("log-prob gap 800, held within 20: ratio", exp(20), ratio_of(800.0), 1.0),
        near(
            "probability 0.01 and 0.9: most that one clipped step may add", [0.002, 0.18], [room(0.01), room(0.9)], 1e-9
        ),
    ]


def objective(ratio: float, advantage: float, low: float = 0.2, high: float = 0.2, dual: float = inf) -> float:
    """To be maximised. `dual` bounds the loss of negative advantages from above."""
    value = min(ratio * advantage, clipped(ratio, low, high) * advantage)
    return max(value, dual * advantage) if advantage < 0 else value


def clipped(ratio: float, low: float, high: float) -> float:
    return min(max(ratio, 1 - low), 1 + high)


def tilt(ratio: float, advantage: float, high: float = 0.2, dual: float = inf) -> float:
    """Slope in the ratio, by central difference."""
    ahead, behind = (objective(ratio + step, advantage, 0.2, high, dual) for step in (STEP, -STEP))
    return (ahead - behind) / (2 * STEP)


def ratio_of(gap: float, most: float = 20.0) -> float:
    """exp of the log-prob difference, which verl holds within 20."""
    return exp(min(max(gap, -most), most))


def room(probability: float, high: float = 0.2) -> float:
    """Probability that a token may gain before its gradient stops."""
    return probability * clipped(10.0, high, high) - probability
