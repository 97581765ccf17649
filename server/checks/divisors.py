"""The nearest size that divides, found fast for sizes of any magnitude."""

from __future__ import annotations

from math import isqrt

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
