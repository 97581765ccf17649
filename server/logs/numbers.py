"""Numbers as logs print them: plain, quoted, `nan`, `np.float64(0.1)`, `tensor(0.1, device='cuda:0')`."""

from __future__ import annotations

import math
import re

# What NumPy 2 and torch print around a number.
WRAPPED = r"(?:(?:np\.|numpy\.)?(?:float|int|uint|bool)(?:_|16|32|64)?\(|(?:torch\.)?tensor\(\[{0,3})?"
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan\b|inf(?:inity)?\b|NaN\b|Inf(?:inity)?\b)"
_WRAPPED_NUMBER = re.compile(rf"\s*['\"]?{WRAPPED}({NUMBER})")


def leading_number(text: str) -> float | None:
    """The number that a piece of text begins with, unwrapped; None when it begins with something else."""
    try:
        return float(text)
    except ValueError:
        found = _WRAPPED_NUMBER.match(text)
        return float(found[1]) if found else None


def as_number(value: object) -> float | None:
    """The number that a decoded JSON value is: a number, or "nan" or "0.1" in quotes; None for anything else."""
    if isinstance(value, float):
        return value
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and 0 < len(value) <= 32:
        try:
            return float(value)
        except ValueError:
            return None
    return None
