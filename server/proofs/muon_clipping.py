"""Muon and gradient clipping: the polar factor ignores scale, down to the floor in the normalisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .case import Case, near
from .product import product

Matrix = NDArray[np.float64]

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
STEPS = 5
FLOOR = 1e-7
LOWER_FLOOR = 1e-15  # emerging-optimizers from 0.4.0
GROWTH = 3.4445**5  # what five steps make of a singular value near 0


def check() -> list[Case]:
    """The scale a layer may lose, where its update stalls, and what order and momentum change."""
    layer = unit(np.random.default_rng(0).standard_normal((64, 128)))
    whole = orthogonalised(layer, FLOOR)
    tiny = orthogonalised(1e-12 * layer, FLOOR)
    cases = [
        near(
            f"layer norm {scale:g} after clipping: [size, cosine] against the unclipped update",
            expected,
            [size(part) / size(whole), cosine(part, whole)],
            tolerance,
        )
        for scale, expected, tolerance in (
            (1e-4, [1.0, 1.0], 0.005),
            (1e-8, [1.02, 0.986], 0.02),
            (1e-10, [0.070, 0.912], 0.01),
        )
        for part in [orthogonalised(scale * layer, FLOOR)]
    ]
    return [
        *cases,
        near("layer norm 1e-12: growth over five steps", GROWTH, size(tiny) / (1e-12 / FLOOR), 0.5),
        near(
            "layer norm 1e-9, floor 1e-15: size against the unclipped update",
            1.0,
            size(orthogonalised(1e-9 * layer, LOWER_FLOOR)) / size(whole),
            0.001,
        ),
        near("global norm 7.5e7, limit 1: norm left to a layer of 7.5", 1e-7, 7.5 * coefficient(7.5e7, 1.0), 1e-12),
        near(
            "clip after orthogonalisation, limit 1: norm of every update",
            1.0,
            size(whole) * coefficient(size(whole), 1.0),
            1e-4,
        ),
        near("norm of the orthogonalised update, 128 against 32 wide (square)", 2.0, _norm_at(128) / _norm_at(32), 0.1),
        near(
            "two steps, norms 1000 and 1: cosine of momentum with and without clipping",
            0.6895,
            _momentum_cosine(),
            1e-3,
        ),
    ]


def orthogonalised(matrix: Matrix, floor: float) -> Matrix:
    """Newton-Schulz towards the polar factor."""
    a, b, c = COEFFICIENTS
    x = normalised(matrix, floor)
    for _ in range(STEPS):
        gram = product(x, x.T)
        x = a * x + product(b * gram + c * product(gram, gram), x)
    return x


def normalised(matrix: Matrix, floor: float) -> Matrix:
    return matrix / (size(matrix) + floor)


def coefficient(norm: float, limit: float) -> float:
    """What global norm clipping multiplies every gradient by."""
    return min(1.0, limit / (norm + 1e-6))


def momentum(gradients: list[Matrix], decay: float = 0.95) -> Matrix:
    buffer = np.zeros_like(gradients[0])
    for gradient in gradients:
        buffer = decay * buffer + gradient
    return buffer


def _momentum_cosine() -> float:
    gradients = [np.array([[1000.0, 0.0]]), np.array([[0.0, 1.0]])]
    clipped = [gradient * coefficient(size(gradient), 1.0) for gradient in gradients]
    return cosine(momentum(gradients), momentum(clipped))


def _norm_at(width: int) -> float:
    return size(orthogonalised(np.random.default_rng(width).standard_normal((width, width)), FLOOR))


def size(matrix: Matrix) -> float:
    return float(np.linalg.norm(matrix))


def unit(matrix: Matrix) -> Matrix:
    return matrix / size(matrix)


def cosine(one: Matrix, other: Matrix) -> float:
    return float(np.sum(one * other) / (size(one) * size(other)))
