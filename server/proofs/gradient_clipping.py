"""Clipping by global norm: what the factor does, what 0 means, and what it cannot cure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .case import Case, near

Vector = NDArray[np.float64]


def check() -> list[Case]:
    """A gradient of norm 5 and 0.5, one with inf and NaN, and Adam behind a constant factor."""
    gradient = np.array([3.0, -4.0])
    small = gradient / 10
    burst = [np.array([size]) for size in [1.0] * 4 + [1000.0] + [1.0] * 100]
    steps = [np.array([1.0, -2.0, 0.5]) * size for size in (1.0, 5.0, 2.0)]
    return [
        near("norm 5, limit 1: norm after clipping", 1.0, norm(clipped(gradient, 1.0)), 1e-6),
        near("norm 5, limit 1: cosine with the gradient before", 1.0, cosine(clipped(gradient, 1.0), gradient), 1e-12),
        near("norm 0.5, limit 1: unchanged", [0.3, -0.4], clipped(small, 1.0), 0.0),
        near("limit 0 in the frameworks: off", [3.0, -4.0], clipped(gradient, 0.0), 0.0),
        near("limit 0 in the bare formula: nothing is learned", [0.0, 0.0], gradient * factor(5.0, 0.0), 0.0),
        near("one entry inf: the others and itself", [0.0, np.nan], clipped(np.array([3.0, np.inf]), 1.0), 0.0),
        near("one entry NaN: every entry", [np.nan, np.nan], clipped(np.array([3.0, np.nan]), 1.0), 0.0),
        near(
            "Adam, every step scaled by 1e-3: largest change of its update",
            0.0,
            float(np.abs(adam(steps) - adam([1e-3 * g for g in steps])).max()),
            1e-5,
        ),
        near(
            "Adam, gradients of 1 with one of 1000, 100 steps after it: update unclipped, clipped to 1",
            [0.0105, 1.0],
            [float(adam(burst)[0]), float(adam([clipped(g, 1.0) for g in burst])[0])],
            1e-3,
        ),
    ]


def factor(total: float, limit: float) -> float:
    """PyTorch's: limit over norm, at most 1."""
    return min(1.0, limit / (total + 1e-6)) if np.isfinite(total) else limit / total


def clipped(gradient: Vector, limit: float) -> Vector:
    """0 switches clipping off, as DeepSpeed, Megatron and the trainers on top read it."""
    if limit == 0:
        return gradient
    with np.errstate(all="ignore"):
        return gradient * factor(norm(gradient), limit)


def norm(vector: Vector) -> float:
    return float(np.linalg.norm(vector))


def cosine(one: Vector, other: Vector) -> float:
    return float(one @ other / (norm(one) * norm(other)))


def adam(gradients: list[Vector], beta1: float = 0.9, beta2: float = 0.999, floor: float = 1e-8) -> Vector:
    """The update of the last step, in units of the learning rate."""
    first, second = np.zeros_like(gradients[0]), np.zeros_like(gradients[0])
    for gradient in gradients:
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
    count = len(gradients)
    return (first / (1 - beta1**count)) / (np.sqrt(second / (1 - beta2**count)) + floor)
