"""Bypass mode: the rollout's log-probabilities stand in for the trainer's old ones. What that does to the ratio, the
gradient, time and memory."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from .case import Case, near
from .qwen import LINEAR, PARAMETERS, adapter_parameters

Vector = NDArray[np.float64]
GIB = 2**30
ADAPTER = adapter_parameters(LINEAR, 32)
TRAINER = np.array([0.9, 0.1, -0.4, 0.3, -0.9])  # logits of a policy over five answers
ENGINE = TRAINER + np.array([0.25, -0.3, 0.1, -0.2, 0.15])  # the same weights in another engine
ADVANTAGES = np.array([-1.0, 0.5, 0.3, 1.0, 0.2])
FORWARD, TRAINING, RECOMPUTED = 2, 6, 8  # operations a parameter and token


def check() -> list[Case]:
    """First update: current policy equals old policy, so every ratio other than 1 is engine mismatch."""
    policy, engine = softmax(TRAINER), softmax(ENGINE)
    true = gradient(policy, policy, np.ones(5))
    bypass, decoupled = ratios(policy, engine, bypass=True), ratios(policy, engine, bypass=False)
    weights = policy / engine
    return [
        near("log-prob gap 0.3: ratio in bypass mode", 1.3499, exp(0.3), 1e-4),
        near("ratios at the first update, decoupled", [1.0] * 5, decoupled, 1e-12),
        near("largest distance of a ratio from 1, bypass", 0.4183, float(np.abs(bypass - 1).max()), 1e-3),
        near(
            "bypass without clipping: distance from the true gradient",
            0.0,
            distance(gradient(policy, engine, bypass), true),
            1e-12,
        ),
        near(
            "decoupled with importance weights: distance",
            0.0,
            distance(gradient(policy, engine, decoupled * weights), true),
            1e-12,
        ),
        near("decoupled without weights: distance", 0.0359, distance(gradient(policy, engine, decoupled), true), 1e-3),
        near(
            "bypass, clipped to 0.8 ... 1.2: distance",
            0.2085,
            distance(gradient(policy, engine, kept(bypass)), true),
            1e-3,
        ),
        near(
            "log-prob noise 0.1, 0.3: share of tokens outside 0.8 ... 1.2, sampled",
            [outside(0.1), outside(0.3)],
            [sampled_outside(0.1), sampled_outside(0.3)],
            0.005,
        ),
        near("share outside 0.8 ... 1.2 at noise 0.3", 0.5002, outside(0.3), 1e-3),
        near(
            "time saved: with a reference pass, without, with full recomputation",
            [0.2, 0.25, 1 / 6],
            [saved(TRAINING, True), saved(TRAINING, False), saved(RECOMPUTED, True)],
            1e-9,
        ),
        near(
            "GiB of weights, adapter and its states, 16 bytes each",
            [14.19, 1.20],
            [2 * PARAMETERS / GIB, 16 * ADAPTER / GIB],
            0.01,
        ),
        near(
            "bytes a parameter in sum; the seeds' 3.8 would be, GiB",
            [2.17, 26.95],
            [2 + 16 * ADAPTER / PARAMETERS, 3.8 * PARAMETERS / GIB],
            0.01,
        ),
        near(
            "peak GiB, 2048 tokens a micro-batch, old log-probs computed and bypassed",
            [peak(bypass=False)] * 2,
            [peak(bypass=False), peak(bypass=True)],
            0.0,
        ),
    ]


def softmax(logits: Vector) -> Vector:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def ratios(policy: Vector, engine: Vector, bypass: bool) -> Vector:
    """Current over old policy at the first update; `old` is the engine's in bypass mode, else the trainer's own."""
    return policy / (engine if bypass else policy)


def gradient(policy: Vector, sampled_from: Vector, factor: Vector) -> Vector:
    """Expected policy gradient for the logits, when answers come from `sampled_from` and count by `factor`."""
    scores = np.eye(5) - policy
    return (sampled_from * factor * ADVANTAGES) @ scores


def kept(ratio: Vector, low: float = 0.8, high: float = 1.2) -> Vector:
    """Ratios whose gradient the clipped objective keeps; the others count 0."""
    cut = ((ADVANTAGES > 0) & (ratio > high)) | ((ADVANTAGES < 0) & (ratio < low))
    return np.where(cut, 0.0, ratio)


def distance(one: Vector, other: Vector) -> float:
    return float(np.linalg.norm(one - other))


def outside(noise: float) -> float:
    """Share of ratios outside 0.8 ... 1.2 when log-probabilities differ by normal noise."""
    from math import erf, log

    below, above = log(0.8) / noise, log(1.2) / noise
    return 1 - 0.5 * (erf(above / sqrt(2)) - erf(below / sqrt(2)))


def sampled_outside(noise: float) -> float:
    ratio = np.exp(np.random.default_rng(3).normal(0, noise, 100_000))
    return float(((ratio < 0.8) | (ratio > 1.2)).mean())


def saved(training: int, reference: bool) -> float:
    """Share of the trainer's operations that the skipped forward pass was."""
    return FORWARD / (FORWARD + training + (FORWARD if reference else 0))


def peak(bypass: bool, tokens: int = 2048, vocabulary: int = 152_064) -> float:
    """GiB of the largest phase: the update holds what the log-prob pass holds, and gradients of the logits besides."""
    resident = 2 * PARAMETERS + 16 * ADAPTER
    log_prob = resident + tokens * vocabulary * 6
    update = resident + tokens * vocabulary * 10
    return (update if bypass else max(log_prob, update)) / GIB
