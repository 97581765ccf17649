"""The estimators k1, k2, k3 of a KL divergence from samples: bias, spread, gradients, overflow.

Samples x come from q (the policy); r = p(x)/q(x) with p the reference. Gaussians N(0, 1) and N(mu, 1) give every
moment in closed form; a policy over five answers gives exact gradients.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from .case import Case, near, same

Vector = NDArray[np.float64]
SAMPLES = 200_000
LOGITS = np.array([0.2, -0.5, 1.0, 0.4, -1.1])
REFERENCE = np.array([-0.3, 0.8, 0.1, 0.0, -0.2])


def check() -> list[Case]:
    """Values, gradients as a loss term, and the exponential."""
    cases: list[Case] = []
    for mu, tolerance in ((0.1, 5e-4), (1.0, 0.02)):
        drawn = estimates(mu)
        cases += [
            near(f"mu = {mu}: mean of k1, k2, k3", list(means(mu)), drawn.mean(axis=1), tolerance),
            near(f"mu = {mu}: spread of k1, k2, k3", list(spreads(mu)), drawn.std(axis=1), 2 * tolerance),
        ]
    reverse, forward = kl_gradients()
    return [
        *cases,
        near("mu = 3: bias of k2 over the true 4.5", 2.25, means(3.0)[1] / 4.5 - 1, 1e-9),
        near("mu = 3: spread of k1 and of k3", [3.0, 89.96], [spreads(3.0)[0], spreads(3.0)[2]], 0.01),
        same(
            "k3 is never negative, k1 is",
            [True, True],
            [bool((estimates(1.0)[2] >= 0).all()), bool((estimates(1.0)[0] < 0).any())],
        ),
        near("k1 as a loss: size of the expected gradient", 0.0, size(loss_gradient("k1")), 1e-12),
        near(
            "k2 as a loss: distance from the gradient of KL(policy, reference)",
            0.0,
            size(loss_gradient("k2") - reverse),
            1e-12,
        ),
        near(
            "k3 as a loss: distance from the gradient of KL(reference, policy)",
            0.0,
            size(loss_gradient("k3") - forward),
            1e-12,
        ),
        near(
            "k3 as a loss: distance from the gradient of KL(policy, reference)",
            0.1485,
            size(loss_gradient("k3") - reverse),
            1e-3,
        ),
        near(
            "k1 in the reward: distance from the gradient of KL(policy, reference)",
            0.0,
            size(reward_gradient() - reverse),
            1e-12,
        ),
        near("float32: k3 at a log-ratio of 88 and 89", [1.6516e38, np.inf], [_k3(88.0), _k3(89.0)], 1e35),
        near(
            "the same with the log-ratio held within 20 and the value within 10",
            [10.0, 10.0],
            [_k3(88.0, True), _k3(89.0, True)],
            0.0,
        ),
    ]


def k1(log_ratio: Vector) -> Vector:
    return -log_ratio


def k2(log_ratio: Vector) -> Vector:
    return 0.5 * log_ratio**2


def k3(log_ratio: Vector) -> Vector:
    return np.exp(log_ratio) - 1 - log_ratio


def estimates(mu: float) -> Vector:
    """k1, k2, k3 of samples from N(0, 1) for the reference N(mu, 1)."""
    log_ratio = mu * np.random.default_rng(0).standard_normal(SAMPLES) - mu**2 / 2
    return np.stack([k1(log_ratio), k2(log_ratio), k3(log_ratio)])


def means(mu: float) -> tuple[float, float, float]:
    """Expected values; the true divergence is mu^2/2."""
    return mu**2 / 2, mu**2 / 2 + mu**4 / 8, mu**2 / 2


def spreads(mu: float) -> tuple[float, float, float]:
    """Standard deviations."""
    return mu, sqrt(mu**4 / 2 + mu**6 / 4), sqrt(exp(mu**2) - 1 - mu**2)


def kl_gradients() -> tuple[Vector, Vector]:
    """Gradients for the logits of KL(policy, reference) and of KL(reference, policy)."""
    policy, reference = _softmax(LOGITS), _softmax(REFERENCE)
    log_gap = np.log(policy / reference)
    return policy * (log_gap - (policy * log_gap).sum()), policy - reference


def loss_gradient(name: str) -> Vector:
    """Expected gradient when the estimator is averaged over samples of the policy and differentiated per sample."""
    policy, reference = _softmax(LOGITS), _softmax(REFERENCE)
    log_ratio = np.log(reference / policy)
    slope = {"k1": -np.ones(5), "k2": log_ratio, "k3": np.exp(log_ratio) - 1}[name]
    scores = np.eye(5) - policy
    return (policy * slope) @ -scores


def reward_gradient() -> Vector:
    """Policy gradient of k1 as a penalty, which falls to the score-function estimator."""
    policy, reference = _softmax(LOGITS), _softmax(REFERENCE)
    return (policy * k1(np.log(reference / policy))) @ (np.eye(5) - policy)


def size(vector: Vector) -> float:
    return float(np.linalg.norm(vector))


def _softmax(logits: Vector) -> Vector:
    powers = np.exp(logits)
    return powers / powers.sum()


def _k3(log_ratio: float, clamped: bool = False) -> float:
    held = np.float32(np.clip(log_ratio, -20, 20) if clamped else log_ratio)
    with np.errstate(over="ignore"):
        value = np.exp(held) - held - np.float32(1)
    return float(np.clip(value, -10, 10) if clamped else value)
