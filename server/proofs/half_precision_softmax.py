"""Softmax in half precision: where exp overflows, and why a library softmax does not."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from .case import Case, near

Half = NDArray[np.float16]
LARGEST = 65504.0  # of float16


def check() -> list[Case]:
    """Limits of exp, both forms of softmax at and beyond them, and what rounding does to a router."""
    infinite, masked = [np.inf, 1.0], [-np.inf, -np.inf]
    return [
        near("float16: exp is finite up to ln 65504", 11.0899, log(float(np.finfo(np.float16).max)), 1e-4),
        near("float32: exp is finite up to ln of its maximum", 88.7228, log(float(np.finfo(np.float32).max)), 1e-4),
        near("float16: exp(11.0), exp(11.1)", [59872.0, np.inf], [_exp(11.0), _exp(11.1)], 64),
        near("float16: exp(-17), exp(-18)", [5.96e-8, 0.0], [_exp(-17), _exp(-18)], 1e-10),
        near("naive softmax of 12, 3, 0", [np.nan, 0.0, 0.0], naive([12, 3, 0]), 0.0),
        near("softmax minus maximum of 12, 3, 0", [1.0, 1.234e-4, 6.1e-6], stable([12, 3, 0]), 2e-4),
        near("softmax minus maximum of 65504, 60000, 0", [1.0, 0.0, 0.0], stable([LARGEST, 60000, 0]), 0.0),
        near(
            "softmax minus maximum of 20 and of 100, each against 0",
            [1.0, 0.0, 1.0, 0.0],
            [*stable([20, 0]), *stable([100, 0])],
            1e-6,
        ),
        near("a logit that is already inf", [np.nan, np.nan], stable(infinite), 0.0),
        near("the same after a cast to float32", [np.nan, np.nan], stable(infinite, np.float32), 0.0),
        near("a row that is masked whole", [np.nan, np.nan], stable(masked), 0.0),
        near("router product in float16: 4096 times 8 * 8 (true: 262144)", np.inf, dot(np.float16), 0.0),
        near("the same in float32", 262144.0, dot(np.float32), 0.0),
        near(
            "spacing at 8: float16, bfloat16",
            [0.0078125, 0.0625],
            [float(np.spacing(np.float16(8))), bfloat16(8.05) - 8],
            1e-9,
        ),
        near("logits 8.01 and 8.02 in bfloat16: difference", 0.0, bfloat16(8.02) - bfloat16(8.01), 0.0),
    ]


def naive(logits: list[float]) -> Half:
    """exp over the sum of exps, all in float16."""
    with np.errstate(all="ignore"):
        powers = np.exp(np.array(logits, np.float16))
        return powers / powers.sum()


def stable(logits: list[float], dtype: type[np.floating] = np.float16) -> Half:
    """The maximum is subtracted first, so that every exponent is at most 0."""
    with np.errstate(all="ignore"):
        row = np.array(logits, dtype)
        powers = np.exp(shifted(row))
        return powers / powers.sum()


def shifted(row: Half) -> Half:
    return row - row.max()


def dot(dtype: type[np.floating]) -> float:
    """Products of one router row, summed in the type of the inputs."""
    with np.errstate(all="ignore"):
        products = np.full(4096, 8, dtype) * np.full(4096, 8, dtype)
        return float(products.sum(dtype=dtype))


def bfloat16(value: float) -> float:
    """Rounded to bfloat16: float32 whose lower 16 bits go, to nearest even."""
    bits = int(np.array(value, np.float32).view(np.uint32))
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(np.array(rounded, np.uint32).view(np.float32))


def _exp(value: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.exp(np.float16(value)))
