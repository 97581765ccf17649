"""A curve scaled into a box: what pages and pictures draw."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Curve

MOST_POINTS = 600  # more than a screen shows


@dataclass(frozen=True, slots=True)
class Scaled:
    """Points and marks in units of the box (y grows downwards), and the range that the box stands for."""

    points: list[tuple[float, float]]
    marks: list[tuple[float, str]]  # x, title of the signal that begins there
    low: float
    high: float
    first: float
    last: float


def scaled(curve: Curve, width: float, height: float, margin: float) -> Scaled | None:
    """The finite part of a curve inside a box of width x height with a margin; None when nothing is finite.

    At most `MOST_POINTS` points are kept, at even distances.
    """
    finite = [(x, y) for x, y in zip(curve.steps, curve.values, strict=True) if y - y == 0 and x - x == 0]
    if not finite:
        return None
    finite = finite[:: -(-len(finite) // MOST_POINTS)]
    first, last = min(curve.steps), max(curve.steps)
    low, high = min(y for _, y in finite), max(y for _, y in finite)

    def across(x: float) -> float:
        return margin + (x - first) / ((last - first) or 1) * (width - 2 * margin)

    def down(y: float) -> float:
        return height - margin - (y - low) / ((high - low) or 1) * (height - 2 * margin)

    marks = [(across(step), title) for step, title in curve.marks]
    return Scaled([(across(x), down(y)) for x, y in finite], marks, low, high, first, last)
