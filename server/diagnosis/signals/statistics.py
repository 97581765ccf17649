"""Robust statistics in plain Python: medians, Theil-Sen slopes, Kendall's tau on bins, change points, spikes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

BINS = 40  # a series is cut into so many medians before slopes are taken: 780 pairs at most


@dataclass(frozen=True, slots=True)
class Trend:
    """How a series moves. z: significance of Kendall's tau; slope: per step, Theil-Sen; change: slope over the span."""

    tau: float
    z: float
    slope: float
    change: float

    @property
    def up(self) -> bool:
        return self.z >= SIGNIFICANT

    @property
    def down(self) -> bool:
        return self.z <= -SIGNIFICANT


SIGNIFICANT = 2.58  # two-sided p = 0.01
_FEWEST = 5


def mad(values: Sequence[float]) -> float:
    """Median distance from the median, scaled to a standard deviation of normal noise."""
    middle = median(values)
    return 1.4826 * median([abs(value - middle) for value in values])


def bins(steps: Sequence[float], values: Sequence[float], count: int = BINS) -> tuple[list[float], list[float]]:
    """Medians of neighbouring values, at most `count` of them."""
    size = len(values)
    if size <= count:
        return list(steps), list(values)
    edges = [size * place // count for place in range(count + 1)]
    cuts = [slice(edges[place], edges[place + 1]) for place in range(count)]
    return [median(steps[cut]) for cut in cuts], [median(values[cut]) for cut in cuts]


def trend(steps: Sequence[float], values: Sequence[float]) -> Trend:
    """Trend of a series; none (z = 0) below five values."""
    if len(values) < _FEWEST:
        return Trend(0.0, 0.0, 0.0, 0.0)
    at, of = bins(steps, values)
    if at[-1] <= at[0]:  # no running step: count the places
        at = [float(place) for place in range(len(of))]
    score, ties, slopes = 0, 0, []
    for right in range(1, len(of)):
        for left in range(right):
            rise, run = of[right] - of[left], at[right] - at[left]
            score += (rise > 0) - (rise < 0)
            ties += rise == 0
            if run > 0:
                slopes.append(rise / run)
    pairs = len(of) * (len(of) - 1) // 2
    if ties == pairs:
        return Trend(0.0, 0.0, 0.0, 0.0)
    sigma = math.sqrt(len(of) * (len(of) - 1) * (2 * len(of) + 5) / 18)
    slope = median(slopes) if slopes else 0.0
    z = (abs(score) - 1) / sigma * (1 if score > 0 else -1) if score else 0.0
    return Trend(score / pairs, z, slope, slope * (at[-1] - at[0]))


def noise(values: Sequence[float]) -> float:
    """Spread of a series around its own course: from the differences of neighbours."""
    steps = [right - left for left, right in pairwise(values)]
    return mad(steps) / math.sqrt(2) if len(steps) > 1 else 0.0


def change_point(values: Sequence[float]) -> tuple[int, float, float] | None:
    """Where one level gives way to another: the place, the medians before and after. None when no cut stands out.

    The cut with the smallest sum of absolute distances from the two medians, on bins, then refined.
    """
    size = len(values)
    if size < 6:
        return None
    count = min(size, 60)
    edges = [size * place // count for place in range(count + 1)]
    best: tuple[float, int] | None = None
    for edge in edges[2:-2]:
        cost = _cost(values[:edge]) + _cost(values[edge:])
        if best is None or cost < best[0]:
            best = (cost, edge)
    whole = _cost(values)
    if best is None or whole == 0 or best[0] > 0.6 * whole:
        return None
    near = range(max(2, best[1] - size // count - 1), min(size - 2, best[1] + size // count + 1) + 1)
    place = min(near, key=lambda edge: _cost(values[:edge]) + _cost(values[edge:]))
    return place, median(values[:place]), median(values[place:])


def _cost(values: Sequence[float]) -> float:
    middle = median(values)
    return sum(abs(value - middle) for value in values)


def spikes(values: Sequence[float], sigmas: float, factor: float, window: int = 21) -> list[int]:
    """Places that tower over their neighbourhood: by `factor` above its median and by `sigmas` on a log scale."""
    logs = [math.log(value) if value > 0 else -30.0 for value in values]
    half = window // 2
    # The median of a sliding window, taken every few values: enough for a neighbourhood.
    stride = max(1, half // 3)
    local = {place: median(logs[max(0, place - half) : place + half + 1]) for place in range(0, len(logs), stride)}
    rest = [value - local[place - place % stride] for place, value in enumerate(logs)]
    spread = max(mad(rest), 0.02)
    return [place for place, value in enumerate(rest) if value > sigmas * spread and value > math.log(factor)]
