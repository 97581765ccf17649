"""Weight sync with adapters: the same function, how many bytes, and when sending only adapters is wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .case import Case, near
from .qwen import ATTENTION, LINEAR, PARAMETERS, adapter_parameters

Matrix = NDArray[np.float64]
MIB = 2**20


def check() -> list[Case]:
    """Qwen2.5-7B at rank 32, and a layer of width 64 at rank 8."""
    random = np.random.default_rng(0)
    weight, a, b = random.standard_normal((64, 64)), random.standard_normal((8, 64)), random.standard_normal((64, 8))
    x = random.standard_normal(64)
    trained = random.standard_normal((64, 64))
    return [
        near(
            "base and adapter against merged weights: largest difference of the output",
            0.0,
            float(np.abs(apart(weight, a, b, x) - merged(weight, a, b) @ x).max()),
            1e-10,
        ),
        near(
            "engine that scales by alpha/r where training used alpha/sqrt(r), r = 64: share of the adapter lost",
            0.875,
            scale_lost(16, 64),
            1e-12,
        ),
        near("all linear modules, bf16: MiB", 154.0, adapter_bytes(LINEAR) / MIB, 0.1),
        near(
            "bytes of the model over those of the adapter: all linear, attention only",
            [94.3, 377.2],
            [2 * PARAMETERS / adapter_bytes(LINEAR), 2 * PARAMETERS / adapter_bytes(ATTENTION)],
            0.2,
        ),
        near("the same at rank 64", 47.2, 2 * PARAMETERS / adapter_bytes(LINEAR, 64), 0.1),
        near(
            "full-parameter update, best rank-8 approximation: share of it that is lost", 0.79, lost(trained, 8), 0.02
        ),
        near("the same for an update of rank 8", 0.0, lost(b @ a, 8), 1e-10),
    ]


def apart(weight: Matrix, a: Matrix, b: Matrix, x: Matrix, scale: float = 1.0) -> Matrix:
    """Base output plus adapter output, as an engine with adapters computes it."""
    return weight @ x + scale * (b @ (a @ x))


def merged(weight: Matrix, a: Matrix, b: Matrix, scale: float = 1.0) -> Matrix:
    return weight + scale * b @ a


def adapter_bytes(modules: tuple[tuple[int, int], ...], rank: int = 32) -> int:
    """In bf16."""
    return 2 * adapter_parameters(modules, rank)


def lost(update: Matrix, rank: int) -> float:
    """Size of what the best approximation of that rank leaves out, over the size of the update."""
    values = np.linalg.svd(update, compute_uv=False)
    return float(np.sqrt((values[rank:] ** 2).sum() / (values**2).sum()))


def scale_lost(alpha: float, rank: int) -> float:
    return 1 - (alpha / rank) / (alpha / rank**0.5)
