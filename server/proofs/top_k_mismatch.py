"""Discrete choices (experts, indexed tokens) that two engines make from scores which differ by rounding."""

from __future__ import annotations

from math import erf, exp, sqrt

import numpy as np

from .case import Case, near, same

TOKENS = 1_500


def check() -> list[Case]:
    """Swap of two candidates, of a whole top-k, over layers; and what it does to ratio and reward."""
    gaps = (0.0, 0.005, 0.01, 0.02, 0.05)
    per_layer = disagreement(128, 8, 0.001)
    return [
        near(
            "gap 0 ... 0.05, noise 0.01: chance of a swap",
            [0.5, 0.3618, 0.2398, 0.0786, 0.0002],
            [swap(gap, 0.01) for gap in gaps],
            1e-4,
        ),
        near(
            "the same, 40,000 pairs sampled",
            [swap(gap, 0.01) for gap in gaps],
            [sampled_swap(gap, 0.01) for gap in gaps],
            0.01,
        ),
        near("8 of 128, noise 0.001: tokens that differ in a layer", 0.007, per_layer, 0.006),
        near("8 of 128, noise 0.01", 0.087, disagreement(128, 8, 0.01), 0.025),
        near("256 of 2048 (a sparse-attention index), noise 0.001", 0.219, disagreement(2048, 256, 0.001, 300), 0.08),
        near("0.7 % a layer over 48 layers: tokens that differ somewhere", 0.286, anywhere(0.007, 48), 1e-3),
        near(
            "one token, other expert chosen by one engine: importance ratio",
            exp(-0.4),
            ratio(chosen=1, recorded=0),
            1e-9,
        ),
        near("the same with the recorded choice replayed", 1.0, ratio(chosen=1, recorded=0, replay=True), 0.0),
        same("reward of the answer in the three cases", [1, 1, 1], [reward("4"), reward("4"), reward("4")]),
        same("reward of a wrong answer", 0, reward("5")),
    ]


def swap(gap: float, noise: float) -> float:
    """Chance that two candidates change places, when each score has independent normal noise between the engines."""
    return 0.5 * (1 + erf(-gap / (noise * sqrt(2)) / sqrt(2)))


def sampled_swap(gap: float, noise: float) -> float:
    first, second = np.random.default_rng(1).normal(0, noise, (2, 40_000))
    return float((gap + first < second).mean())


def disagreement(candidates: int, chosen: int, noise: float, tokens: int = TOKENS) -> float:
    """Share of tokens whose chosen set differs between an engine and the other one."""
    random = np.random.default_rng(2)
    scores = random.standard_normal((tokens, candidates))
    other = scores + random.normal(0, noise, scores.shape)
    sets = (np.sort(top(scores, chosen)), np.sort(top(other, chosen)))
    return float((sets[0] != sets[1]).any(axis=1).mean())


def top(scores: np.ndarray, chosen: int) -> np.ndarray:
    found: np.ndarray = np.argpartition(-scores, chosen - 1, axis=1)[:, :chosen]
    return found


def anywhere(share: float, layers: int) -> float:
    """Over layers that err independently."""
    return 1 - (1 - share) ** layers


def ratio(chosen: int, recorded: int, replay: bool = False) -> float:
    """Trainer over rollout probability of one token, when each expert gives it another log-probability."""
    log_prob = (-0.6, -1.0)
    used = recorded if replay else chosen
    return exp(log_prob[used] - log_prob[recorded])


def reward(answer: str) -> int:
    """A verifier reads the text, whatever the experts were."""
    return int(answer == "4")
