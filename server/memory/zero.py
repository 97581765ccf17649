"""ZeRO in bytes: what each stage leaves on one GPU, by the paper and by DeepSpeed's own memory page."""

from __future__ import annotations

from ..configs.values import InputError

STAGES = (0, 1, 2, 3)


def model_states(parameters: float, stage: int, ranks: int) -> dict[str, float]:
    """Bytes of weights, gradients and optimizer states on one of `ranks` GPUs (arXiv 1910.02054, table 1).

    16-bit weights and gradients, 12 bytes of states per parameter; stage 1 divides the states, 2 also the gradients,
    3 also the weights. Raises InputError for a stage that is none, or fewer ranks than one.
    """
    if stage not in STAGES or ranks < 1:
        raise InputError(f"ZeRO stage {stage} on {ranks} GPUs: stages are 0 to 3, on at least one GPU")
    return {
        "weights": 2 * parameters / (ranks if stage == 3 else 1),
        "gradients": 2 * parameters / (ranks if stage >= 2 else 1),
        "optimizer": 12 * parameters / (ranks if stage >= 1 else 1),
    }


def deepspeed_page(
    parameters: float, largest_layer: float, ranks: int, stage: int, *, optimizer_on_host: bool, weights_on_host: bool
) -> float:
    """Bytes on one GPU by the formulas of DeepSpeed's memory page for the stages 2 and 3.

    They count fp32 gradients in stage 3 (18 bytes per parameter) and 4 bytes per parameter of the largest layer, which
    is put together on each GPU. Raises InputError for what the page has no formula for.
    """
    if stage == 2 and not weights_on_host:
        return 2 * parameters if optimizer_on_host else 4 * parameters + 16 * parameters / ranks
    if stage == 3:
        layer = 4 * largest_layer
        if weights_on_host:
            return layer
        return (2 if optimizer_on_host else 18) * parameters / ranks + layer
    raise InputError("DeepSpeed keeps weights on the host in stage 3 only")
