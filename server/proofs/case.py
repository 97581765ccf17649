"""One line of a check: what was computed, beside what must come out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_DIGITS = 6  # shown; more would differ between machines


@dataclass(frozen=True, slots=True)
class Case:
    """`tolerance` is the largest absolute difference that passes; 0 for what must be equal."""

    input: str
    expected: Any
    got: Any
    tolerance: float
    passed: bool

    def data(self) -> dict[str, Any]:
        """As JSON; numbers that are not finite become the strings "nan", "inf", "-inf"."""
        return {
            "input": self.input,
            "expected": self.expected,
            "got": self.got,
            "tolerance": self.tolerance,
            "pass": self.passed,
        }


def near(what: str, expected: float | Sequence[float], got: Any, tolerance: float) -> Case:
    """Numbers, or lists of them, that may differ by `tolerance`; NaN and infinities must agree exactly."""
    wanted, found = _numbers(expected), _numbers(got)
    passed = len(wanted) == len(found) and all(_close(a, b, tolerance) for a, b in zip(wanted, found, strict=True))
    shown = [[_shown(value) for value in values] for values in (wanted, found)]
    if not isinstance(expected, Sequence):
        return Case(what, shown[0][0], shown[1][0], tolerance, passed)
    return Case(what, shown[0], shown[1], tolerance, passed)


def same(what: str, expected: bool | int | str | Sequence[int], got: Any) -> Case:
    """Counts, words and truth values, which must be equal."""
    return Case(what, expected, got, 0.0, bool(expected == got))


def _numbers(value: Any) -> list[float]:
    return [float(item) for item in value] if hasattr(value, "__len__") else [float(value)]


def _close(expected: float, got: float, tolerance: float) -> bool:
    if math.isfinite(expected) and math.isfinite(got):
        return abs(expected - got) <= tolerance
    return (math.isnan(expected) and math.isnan(got)) or expected == got


def _shown(value: float) -> float | str:
    if not math.isfinite(value):
        return str(value)
    return float(f"{value:.{_DIGITS}g}")
