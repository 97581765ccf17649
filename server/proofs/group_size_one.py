"""One sample per prompt: what each framework's group advantage becomes. Formulas restated from the sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .case import Case, near, same

Rewards = NDArray[np.float64]
REFUSED = "refused"


def check() -> list[Case]:
    """One reward of 0.8, and the rewards 1, 0, 1, 0 as the four samples of a prompt."""
    one, four = np.array([0.8]), np.array([1.0, 0.0, 1.0, 0.0])
    bare = np.array([1.0, 0.0, 0.0, 1.0])
    return [
        near("verl grpo, G = 1, reward 0.8", 0.8, verl(one)[0], 1e-5),
        near("verl grpo without std, G = 1, reward 0.8", 0.8, verl(one, by_std=False)[0], 0.0),
        near("rLLM grpo, G = 1, reward 0.8", 0.8, rllm(one)[0], 1e-5),
        same("TRL in training, G = 1", REFUSED, trl(one)),
        near("TRL in evaluation, G = 1", 0.0, trl(one, training=False)[0], 0.0),
        same("OpenRLHF group_norm, G = 1", REFUSED, openrlhf(one)),
        near("sample standard deviation without a guard, G = 1", np.nan, unguarded(one)[0], 0.0),
        near("verl, G = 4, rewards 1 0 1 0", [0.866024, -0.866024] * 2, verl(four), 1e-5),
        near("rLLM, G = 4 (population standard deviation)", [0.999998, -0.999998] * 2, rllm(four), 1e-5),
        near("TRL, G = 4 (epsilon 1e-4)", [0.865876, -0.865876] * 2, trl(four), 1e-5),
        near("OpenRLHF group_norm, G = 4", [0.866025, -0.866025] * 2, openrlhf(four), 1e-5),
        same(
            "verl, four prompts of one sample, rewards 1 0 0 1: answers that are pushed down",
            0,
            _pushed_down([1, 1, 1, 1], bare),
        ),
        same("the same rewards as one group of four: answers that are pushed down", 2, _pushed_down([4], bare)),
    ]


def verl(rewards: Rewards, by_std: bool = True) -> Rewards:
    """Size 1: mean 0 and standard deviation 1, so the advantage is the reward."""
    mean, std = (0.0, 1.0) if len(rewards) == 1 else (rewards.mean(), rewards.std(ddof=1))
    return (rewards - mean) / (std + 1e-6) if by_std else rewards - mean


def rllm(rewards: Rewards) -> Rewards:
    """As verl at size 1; larger groups divide by the population standard deviation."""
    mean, std = (0.0, 1.0) if len(rewards) <= 1 else (rewards.mean(), rewards.std())
    return (rewards - mean) / (std + 1e-6)


def trl(rewards: Rewards, training: bool = True) -> Rewards | str:
    """Fewer than two generations are a ValueError in training; evaluation takes 0 as the standard deviation."""
    if training and len(rewards) < 2:
        return REFUSED
    std = rewards.std(ddof=1) if len(rewards) > 1 else 0.0
    return (rewards - rewards.mean()) / (std + 1e-4)


def openrlhf(rewards: Rewards) -> Rewards | str:
    """An assertion refuses one sample for group_norm, dr_grpo, rloo and reinforce_baseline."""
    if len(rewards) < 2:
        return REFUSED
    return (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-9)


def unguarded(rewards: Rewards) -> Rewards:
    spread = rewards - rewards.mean()
    with np.errstate(all="ignore"):
        return spread / np.sqrt(np.float64((spread**2).sum()) / np.float64(len(rewards) - 1))


def _pushed_down(sizes: list[int], rewards: Rewards) -> int:
    """How many samples get a negative advantage when the rewards are cut into groups of these sizes."""
    groups = np.split(rewards, np.cumsum(sizes)[:-1])
    return int(sum((verl(group) < 0).sum() for group in groups))
