"""The policy: entropy, distance to the reference, clipping. A single odd curve is not yet an accusation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from .run import Points, Run, number
from .signal import LogSignal, seen

_FLOOR = 0.1  # of the first entropy
_SOON = 0.25  # of the run's length until the floor is reached
_RISE = 2.0
_KL_LARGE, _KL_FACTOR, _KL_ALONE = 1.0, 10.0, 10.0
_KL_START = 0.1  # at the first step, when policy and reference are the same weights
_CLIPPED = 0.35
_ONE_SIDED, _LOW_CLIPPED = 5.0, 0.1


def detect(run: Run) -> Iterator[LogSignal]:
    entropy = run.get("entropy", 8)
    if entropy and min(entropy.values) >= 0:
        yield from _entropy(run, entropy)
    yield from _kl(run)
    yield from _start(run)
    yield from _clipping(run)


def _entropy(run: Run, entropy: Points) -> Iterator[LogSignal]:
    first, last = entropy.head, entropy.tail
    if first <= 0:
        return
    text = f"{entropy.name} went from {number(first)} to {number(last)} over {entropy.span}"
    floor = _FLOOR * first
    left = _steps_to(entropy, floor)
    length = entropy.steps[-1] - entropy.steps[0]
    if last <= floor or (left is not None and left <= _SOON * length and last < 0.4 * first):
        onset = next((at for at, value in enumerate(entropy.values) if value <= max(floor, last)), -1)
        if last > floor and left is not None:
            text += f", and reaches a tenth of its start in about {number(round(left))} steps"
        if run.progress:
            yield seen("entropy_low", f"{text}; the reward still rises", entropy, onset)
        else:
            known = run.progress is not None
            text += "; the reward no longer rises" if known else "; whether the reward rises is not logged"
            yield seen("entropy_collapse", text, entropy, onset, "" if known else "info")
    elif last >= _RISE * first and entropy.trend.up and entropy.trend.tau >= 0.4 and last > 0.1:
        severity = "info" if run.progress or run.progress is None else ""
        text += "; the reward no longer rises" if not severity else ""
        yield seen("entropy_rise", text, entropy, -1, severity)


def _steps_to(entropy: Points, floor: float) -> float | None:
    """Steps until a falling entropy reaches the floor, by its exponential course over the second half."""
    half = entropy.last(0.5)
    if min(half.values) <= 0 or not half.trend.down:
        return None
    logs = Points(half.name, half.steps, [math.log(value) for value in half.values], half.lines)
    slope, now = logs.trend.slope, logs.tail
    return (now - math.log(floor)) / -slope if slope < 0 else None


def _kl(run: Run) -> Iterator[LogSignal]:
    kl = run.get("kl", 8)
    if kl is None or kl.tail < _KL_LARGE:
        return
    usual = median(kl.values[: max(3, len(kl) // 4)])
    grew = kl.trend.up and kl.tail > _KL_FACTOR * max(usual, 1e-6)
    if grew and (run.progress is not True or kl.tail > _KL_ALONE):
        onset = next(place for place, value in enumerate(kl.values) if value > max(_KL_LARGE, 3 * usual))
        text = f"{kl.name} grew from {number(kl.head)} to {number(kl.tail)}"
        text += "; the reward no longer rises" if run.progress is False else ""
        yield seen("kl_growth", text, kl, onset)


def _start(run: Run) -> Iterator[LogSignal]:
    """Before the first update policy, reference and sampler have the same weights."""
    for name, kind in (("kl", "kl_at_start"), ("ppo_kl", "ppo_kl_at_start")):
        points = run.get(name)
        if points and points.steps[0] <= 1 and abs(points.values[0]) > _KL_START:
            text = f"{points.name} is {number(points.values[0])} at step {number(points.steps[0])}"
            yield seen(kind, text, points, 0)


def _clipping(run: Run) -> Iterator[LogSignal]:
    clipped = run.get("clip_fraction", 3)
    share = median(clipped.last(0.25).values) if clipped else 0.0
    if clipped and share >= _CLIPPED:
        onset = next(place for place, value in enumerate(clipped.values) if value >= min(_CLIPPED, share))
        text = f"{clipped.name} is {number(share)} over the last quarter"
        yield seen("clip_saturated", text, clipped, onset)
    low, high, entropy = run.get("clip_fraction_low", 8), run.get("clip_fraction_high", 8), run.get("entropy", 8)
    if low and high and entropy and entropy.tail < 0.5 * entropy.head:
        below, above = low.tail, high.tail
        if below >= _LOW_CLIPPED and below >= _ONE_SIDED * max(above, 1e-9) and run.progress is not True:
            text = f"{low.name} is {number(below)}, {high.name} {number(above)}, and {entropy.name} halves"
            yield seen("clip_one_sided", text, low, -1)
