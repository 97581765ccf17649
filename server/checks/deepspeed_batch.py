"""DeepSpeed's batch arithmetic: DeepSpeedConfig asserts batch = micro-batch x accumulation x ranks."""

from __future__ import annotations

from ..configs.adapters.common import whole
from ..configs.run_config import RunConfig
from ..configs.values import Unresolved
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome, Unknown

_NAMES = ("train_batch_samples", "micro_batch_per_gpu", "gradient_accumulation")


def product_holds(run: RunConfig) -> Outcome:
    """The three batch numbers of a ds_config must agree for the number of ranks."""
    if "elasticity.enabled" in run.native or any(_filled_in_later(run, name) for name in _NAMES):
        return NOT_APPLICABLE  # elastic training and the HF Trainer compute them
    batch, micro, steps = (_written(run, name) for name in _NAMES)
    if batch is None or (micro is None and steps is None):
        return PASS
    per_rank = (micro or 1) * (steps or 1)
    if per_rank < 1 or batch < 1:
        return NOT_APPLICABLE
    ranks = whole(run.value("data_parallel_size"))
    exact = micro is not None and steps is not None
    if ranks is None:
        return _without_ranks(run, batch, per_rank, exact)
    holds = batch == per_rank * ranks if exact else batch % (per_rank * ranks) == 0
    return PASS if holds else _hit(run, batch, per_rank, ranks, exact)


def _without_ranks(run: RunConfig, batch: int, per_rank: int, exact: bool) -> Outcome:
    if batch % per_rank:
        return _hit(run, batch, per_rank, None, exact)
    quotient = batch // per_rank
    sizes = str(quotient) if exact else f"a divisor of {quotient}"
    return Unknown(frozenset([f"{run.key_of('world_size')} (works with {sizes})"]))


def _hit(run: RunConfig, batch: int, per_rank: int, ranks: int | None, exact: bool) -> Hit:
    parts = " x ".join(f"{{{name}.key}}={run.value(name)}" for name in _NAMES[1:] if _written(run, name) is not None)
    total = per_rank * (ranks or 1)
    better = total if exact else max(total, batch // total * total)
    over = f" x {ranks} ranks = {total}" if ranks is not None else " for any number of ranks"
    relation = "is not" if exact else "is no multiple of"
    return Hit(
        "train_batch_samples",
        f"{{train_batch_samples.key}}={batch} {relation} {parts}{over}; DeepSpeed stops at start-up "
        "(Check batch related parameters).",
        f"Set {{train_batch_samples.key}}={better}, or remove it: DeepSpeed computes it.",
        {"train_batch_samples": better},
    )


def _filled_in_later(run: RunConfig, name: str) -> bool:
    setting = run.settings.get(name)
    return setting is not None and setting.origin == "explicit" and isinstance(setting.value, Unresolved)


def _written(run: RunConfig, name: str) -> int | None:
    setting = run.settings.get(name)
    return whole(setting.value) if setting is not None and setting.origin == "explicit" else None
