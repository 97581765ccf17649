"""Bytes of ZeRO's model states on each GPU, by stage and number of data-parallel ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .case import Case, near, same

# Bytes a parameter in mixed-precision training with Adam.
STATES = {"weights": 2, "gradients": 2, "master": 4, "momentum": 4, "variance": 4}
OPTIMIZER = frozenset({"master", "momentum", "variance"})
SHARDED: Mapping[int, frozenset[str]] = {
    0: frozenset(),
    1: OPTIMIZER,
    2: OPTIMIZER | {"gradients"},
    3: OPTIMIZER | {"gradients", "weights"},
}
OFFLOADABLE = {"optimizer": {1, 2, 3}, "param": {3}}  # DeepSpeed's offload_optimizer and offload_param, by stage
GIB, T5_3B, LARGEST_LAYER = 2**30, 2851e6, 32e6


def check() -> list[Case]:
    """The paper's figures, one rank, DeepSpeed's own table, and what one rank's collectives do."""
    paper = [7.5 * bytes_per_parameter(stage, 64) for stage in range(4)]
    alone = [7.5 * bytes_per_parameter(stage, 1) for stage in range(4)]
    one, many = np.arange(6.0), np.arange(24.0).reshape(4, 6)
    return [
        near(
            "7.5e9 parameters, 64 GPUs, stage 0 ... 3, GB (the paper's figures)", [120.0, 31.4, 16.6, 1.9], paper, 0.06
        ),
        near("7.5e9 parameters, 1 GPU, stage 0 ... 3, GB", [120.0] * 4, alone, 0.0),
        near(
            "bytes a parameter at 8 GPUs by the formulas 4 + 12/N, 2 + 14/N, 16/N",
            [4 + 12 / 8, 2 + 14 / 8, 16 / 8],
            [bytes_per_parameter(stage, 8) for stage in (1, 2, 3)],
            1e-12,
        ),
        near(
            "T5-3B, 8 GPUs, DeepSpeed's page: stage 2 with and without offload, GiB",
            [5.31, 15.93],
            [documented(2, "optimizer"), documented(2)],
            0.011,
        ),
        near(
            "T5-3B, 8 GPUs: stage 3 without offload, optimizer, both offloaded, GiB",
            [6.10, 0.79, 0.12],
            [documented(3), documented(3, "optimizer"), documented(3, "both")],
            0.011,
        ),
        near(
            "all-reduce over one rank: change of the gradient", 0.0, float(np.abs(all_reduce([one]) - one).max()), 0.0
        ),
        near("all-reduce over four ranks: first entries' mean", 9.0, float(all_reduce(list(many))[0]), 0.0),
        same("stages whose weights can leave the GPU", [3], sorted(OFFLOADABLE["param"])),
        near(
            "13e9 parameters in bf16, 1 GPU, stage 3: GB of weights resident, parameters offloaded and not",
            [0.0, 26.0],
            [13 * resident_weights(True), 13 * resident_weights(False)],
            1e-12,
        ),
    ]


def bytes_per_parameter(stage: int, ranks: int) -> float:
    """Sum of the states, each divided by the ranks where the stage shards it."""
    return sum(size / (ranks if name in SHARDED[stage] else 1) for name, size in STATES.items())


def documented(stage: int, offload: str = "none", ranks: int = 8) -> float:
    """GiB a GPU by the formulas of DeepSpeed's memory page."""
    layer = 4 * LARGEST_LAYER
    if stage == 2:
        total = 2 * T5_3B if offload == "optimizer" else 4 * T5_3B + 16 * T5_3B / ranks
    else:
        total = layer + {"none": 18 * T5_3B / ranks, "optimizer": 2 * T5_3B / ranks, "both": 0.0}[offload]
    return total / GIB


def resident_weights(offloaded: bool) -> float:
    """Bytes a parameter that stay on a single GPU between layers."""
    return 0.0 if offloaded and 3 in OFFLOADABLE["param"] else float(STATES["weights"])


def all_reduce(gradients: list[np.ndarray]) -> np.ndarray:
    """The mean over ranks."""
    total: np.ndarray = np.mean(gradients, axis=0)
    return total
