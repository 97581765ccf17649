"""LoRA's scale and rank: what the first Adam step does to the weights."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .case import Case, near, same
from .product import product
from .qwen import ATTENTION, LINEAR, PARAMETERS, adapter_parameters

Matrix = NDArray[np.float64]
WIDTH, RATE = 128, 1e-4
QUERY_VALUE = (ATTENTION[0], ATTENTION[2])


def check() -> list[Case]:
    """Start, first step for three ways to set alpha, and parameter counts."""
    return [
        near(
            "size of the adapter's part at the start, r = 64",
            0.0,
            float(np.linalg.norm(_delta(64, 128.0, step=0.0))),
            0.0,
        ),
        near(
            "scale alpha/r at r = 32, alpha = 64; r = 64, alpha = 128", [2.0, 2.0], [scale(64, 32), scale(128, 64)], 0.0
        ),
        near("rsLoRA scale at r = 64, alpha = 16", 2.0, scale(16, 64, stabilised=True), 0.0),
        near("alpha = 2 r, r 32 to 64: gain along the gradient grows by", 2.0, gain(128, 64) / gain(64, 32), 0.15),
        near("alpha = 2 r, r 32 to 64: size of the step grows by", 1.5, norm(128, 64) / norm(64, 32), 0.15),
        near("alpha = 64, r 32 to 64: gain along the gradient grows by", 1.0, gain(64, 64) / gain(64, 32), 0.1),
        near(
            "rsLoRA, alpha = 16, r 8 to 32: size of the step grows by",
            1.1,
            norm(16, 32, True) / norm(16, 8, True),
            0.1,
        ),
        near(
            "r = 64, alpha = 128, half the learning rate: gain over r = 32, alpha = 64",
            1.0,
            0.5 * gain(128, 64) / gain(64, 32),
            0.1,
        ),
        same("Qwen2.5-7B, all linear, r = 32: trainable parameters", 80_740_352, adapter_parameters(LINEAR, 32)),
        same("query and value only", 10_092_544, adapter_parameters(QUERY_VALUE, 32)),
        near(
            "share of 7.6156e9 parameters, per cent",
            [1.060, 0.133],
            [100 * adapter_parameters(modules, 32) / PARAMETERS for modules in (LINEAR, QUERY_VALUE)],
            1e-3,
        ),
    ]


def scale(alpha: float, rank: int, stabilised: bool = False) -> float:
    return alpha / (sqrt(rank) if stabilised else rank)


def first_update(gradient: Matrix) -> Matrix:
    """Adam's first step moves every entry by the learning rate, whatever the gradient's size."""
    return np.sign(gradient)


def _delta(rank: int, alpha: float, stabilised: bool = False, step: float = RATE) -> Matrix:
    """Change of the weights after one step: A as PEFT draws it, B zero before."""
    a = np.random.default_rng(rank).uniform(-1, 1, (rank, WIDTH)) / sqrt(WIDTH)
    factor = scale(alpha, rank, stabilised)
    b = step * first_update(factor * product(_gradient(), a.T))
    return factor * product(b, a)


@lru_cache(maxsize=1)
def _gradient() -> Matrix:
    """Of the loss for the whole weight, as it stands in the update's direction."""
    return np.random.default_rng(0).standard_normal((WIDTH, WIDTH))


def gain(alpha: float, rank: int, stabilised: bool = False) -> float:
    """How far the step goes along the gradient of the whole weight."""
    whole = _gradient()
    return float(np.sum(_delta(rank, alpha, stabilised) * whole) / np.linalg.norm(whole))


def norm(alpha: float, rank: int, stabilised: bool = False) -> float:
    return float(np.linalg.norm(_delta(rank, alpha, stabilised)))
