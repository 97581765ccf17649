"""Gradient norm and learning rate: growth, spikes, zeros, size."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from .run import Points, Run, number
from .signal import LogSignal, seen
from .statistics import spikes

_GROWTH, _GROWTH_ALONE = 3.0, 10.0  # tail over head; the second needs no other sign
_SPIKE_SIGMAS, _SPIKE_FACTOR = 8.0, 5.0
_SPIKES, _SPIKE_HIGH, _SPIKE_SHARE = 3, 20.0, 0.02  # so many high ones, or so large a share, are more than bad batches
_ZERO_SOME, _ZERO_MANY, _ZERO_ALL = 0.2, 0.4, 0.95  # share of steps
_HUGE = 1e4


def detect(run: Run) -> Iterator[LogSignal]:
    norm = run.get("grad_norm")
    if norm:
        yield from _zeros(run, norm)
        yield from _growth(run, norm)
        yield from _spikes(norm)
        yield from _size(norm)
    yield from _learning_rate(run)


def _growth(run: Run, norm: Points) -> Iterator[LogSignal]:
    if len(norm) < 12 or norm.head <= 0:
        return
    factor = norm.tail / norm.head
    if factor < _GROWTH or norm.trend.tau < 0.5 or not norm.trend.up:
        return
    others = [text for text, holds in _company(run) if holds]
    text = f"{norm.name} grew from {number(norm.head)} to {number(norm.tail)} ({number(factor)} times) over {norm.span}"
    text += f"; {', '.join(others)}" if others else ""
    certain = bool(others) or factor >= _GROWTH_ALONE
    yield seen("grad_norm_growth", text, norm, -1, "" if certain else "info")


def _company(run: Run) -> Iterator[tuple[str, bool]]:
    """What turns a growing norm into an accusation."""
    yield "no progress in the second half", run.progress is False
    for name, limit in (("prob_gap", 0.01), ("clip_fraction", 0.2)):
        if points := run.get(name):
            yield f"{points.name} is {number(points.tail)}", points.tail > limit


def _spikes(norm: Points) -> Iterator[LogSignal]:
    if len(norm) < 20:
        return
    places = spikes(norm.values, _SPIKE_SIGMAS, _SPIKE_FACTOR)
    if places:
        worst = max(places, key=lambda place: norm.values[place])
        at = ", ".join(number(norm.steps[place]) for place in places[:6])
        usual = median(norm.values)
        text = f"{len(places)} spikes of {norm.name}, up to {number(norm.values[worst])}"
        text += f" against a median of {number(usual)} (steps {at})"
        high = sum(norm.values[place] >= _SPIKE_HIGH * usual for place in places)
        many = high >= _SPIKES or len(places) >= max(_SPIKES, _SPIKE_SHARE * len(norm))
        yield seen("grad_norm_spikes", text, norm, places[0], "" if many else "info")


def _size(norm: Points) -> Iterator[LogSignal]:
    usual = median(norm.values)
    if usual >= _HUGE:
        text = f"the median of {norm.name} is {number(usual)}"
        yield seen("grad_norm_huge", text, norm, 0)


def _zeros(run: Run, norm: Points) -> Iterator[LogSignal]:
    zeros = [place for place, value in enumerate(norm.values) if value == 0]
    share = len(zeros) / len(norm)
    if share < _ZERO_SOME or (len(norm) < 5 and share < 1):
        return
    differ = _rewards_differ(run)
    text = f"{norm.name} is exactly 0 at {len(zeros)} of {len(norm)} steps"
    if differ is False and share >= _ZERO_MANY:
        yield seen("grad_zero_no_signal", f"{text}; rewards within groups do not differ", norm, zeros[0])
    elif differ and share >= _ZERO_ALL:
        severity = "" if len(norm) >= 3 else "warning"
        yield seen("grad_zero_lost", f"{text}; rewards within groups differ", norm, zeros[0], severity)
    else:
        yield seen("grad_zero_steps", text, norm, zeros[0], "" if share >= _ZERO_MANY else "info")


def _rewards_differ(run: Run) -> bool | None:
    """Whether the rewards of a group differ; None when the log does not tell."""
    uniform = run.get("uniform_groups")
    if uniform:
        return True if uniform.tail < 0.9 else (False if uniform.tail > 0.99 else None)
    low, high = run.get("advantage_min"), run.get("advantage_max")
    if low and high:
        return max(high.values) - min(low.values) > 1e-9
    spread = run.get("reward_std")
    if spread and max(spread.values) == 0:
        return False
    low, high = run.get("reward_min"), run.get("reward_max")
    if low and high and max(high.values) == min(low.values):
        return False
    return None


def _learning_rate(run: Run) -> Iterator[LogSignal]:
    """Zero for long: not the first step of a warm-up, nor the last of a decay."""
    rate = run.get("learning_rate")
    if rate is None or rate.values[-1] != 0:
        return
    zeros = 0
    for value in reversed(rate.values):
        if value != 0:
            break
        zeros += 1
    alone = len(rate) <= 3 and zeros == len(rate) and rate.steps[-1] >= 10
    if alone or (len(rate) >= 5 and zeros >= max(3, len(rate) // 20)):
        text = f"{rate.name} is 0 from step {number(rate.steps[-zeros])} on ({zeros} of {len(rate)} values)"
        yield seen("learning_rate_zero", text, rate, -zeros)
