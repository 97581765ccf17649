"""Sizes as they come from a config: positive ones only, and the nearest one that divides, found fast."""

from __future__ import annotations

from math import isqrt

from ..configs.adapters.common import whole
from ..configs.run_config import RunConfig

_MAX_TRIALS = 100_000


def divisor_at_most(size: int, limit: int) -> int:
    """The largest divisor of `size` that is not above `limit`; 1 when there is none or a number is not positive.

    Beyond 10^10 a larger one may exist: trial division stops after 100,000 candidates.
    """
    if size < 1 or limit < 1:
        return 1
    best = 1
    for small in range(1, min(isqrt(size), _MAX_TRIALS) + 1):
        if size % small == 0:
            best = max(best, *(part for part in (small, size // small) if part <= limit), 1)
    return best


def positive(run: RunConfig, name: str) -> int | None:
    """A field as positive whole number, None when it is none or not known."""
    number = whole(run.value(name))
    return number if number is not None and number > 0 else None
