"""Memory of the clipped loss, and the terms of the figure 65.06 GiB that is held against it."""

from __future__ import annotations

from .case import Case, near, same
from .qwen import PARAMETERS

GIB = 2**30
# The terms that were added up for 7e9 parameters, GB as written there.
CLAIMED = {
    "actor": 14,
    "value head": 0.28,
    "critic": 0.28,
    "reference": 14,
    "Adam": 28,
    "activations": 0.5,
    "gradients": 7,
    "CUDA": 1,
}


def check() -> list[Case]:
    """What the loss itself holds, what full training holds, and what a critic adds."""
    return [
        near("sum of the claimed terms, GiB as written", 65.06, sum(CLAIMED.values()), 1e-9),
        near(
            "Adam for 7e9 parameters: claimed, moments in fp32, with the master copy, GB",
            [28, 56, 84],
            [CLAIMED["Adam"], 7 * adam(master=False), 7 * adam(master=True)],
            1e-9,
        ),
        near(
            "1024 answers of 1024 tokens: MiB that old log-probs take, ratio and bounds besides",
            [4.0, 16.0],
            [loss_bytes(1024 * 1024, 1) / 2**20, loss_bytes(1024 * 1024, 4) / 2**20],
            0.0,
        ),
        near(
            "the same as a share of the actor's weights, per cent",
            0.03,
            100 * loss_bytes(1024 * 1024, 1) / (2 * PARAMETERS),
            0.005,
        ),
        near("full training of the actor alone, 16 bytes a parameter, GiB", 113.48, full(PARAMETERS), 0.02),
        near("the same with a critic of the same size", 226.96, full(PARAMETERS, critic=True), 0.04),
        same("objective whose ratio is clipped: GRPO, PPO", [True, True], [is_clipped("grpo"), is_clipped("ppo")]),
    ]


def adam(master: bool) -> int:
    """Bytes a parameter: two moments in fp32, and the fp32 copy of the weights."""
    return 8 + (4 if master else 0)


def loss_bytes(tokens: int, tensors: int) -> int:
    """fp32 numbers, one for each token and tensor."""
    return 4 * tokens * tensors


def full(parameters: float, critic: bool = False) -> float:
    """GiB of weights, gradients and Adam's states with a master copy; the critic is a second model."""
    models = 2 if critic else 1
    return models * parameters * (2 + 2 + adam(master=True)) / GIB


def is_clipped(estimator: str) -> bool:
    """Whether the objective is flat above its bound: where the advantage comes from does not enter it."""
    advantage = {"grpo": 1.0 - 0.5, "ppo": 1.0 - 0.7}[estimator]  # group mean, value of the critic
    return surrogate(2.0, advantage) == surrogate(3.0, advantage)


def surrogate(ratio: float, advantage: float) -> float:
    return min(ratio * advantage, min(max(ratio, 0.8), 1.2) * advantage)
