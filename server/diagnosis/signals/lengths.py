"""Lengths of answers: at the cap, running to it, growing without a gain, shrinking to nothing."""

from __future__ import annotations

from collections.abc import Iterator

from .run import Run, number
from .signal import LogSignal, seen

_AT_CAP = 0.9  # share of answers
_CAP_LATE, _CAP_GAIN = 0.25, 0.15
_GREW, _SHRANK = 2.0, 0.2


def detect(run: Run) -> Iterator[LogSignal]:
    capped = run.get("length_capped")
    at_cap = False
    if capped:
        at_cap = capped.tail >= _AT_CAP
        if at_cap:
            ended = run.get("terminated_length")
            text = f"{capped.name} is {number(capped.tail)}: nearly no answer ends by itself"
            text += f"; {ended.name} is 0" if ended and max(ended.values) == 0 else ""
            onset = next(place for place, value in enumerate(capped.values) if value >= _AT_CAP)
            yield seen("length_at_cap", text, capped, onset)
        elif len(capped) >= 8 and capped.tail >= max(_CAP_LATE, capped.head + _CAP_GAIN) and capped.trend.up:
            onset = next(place for place, value in enumerate(capped.values) if value >= _CAP_LATE)
            text = f"{capped.name} rose from {number(capped.head)} to {number(capped.tail)}"
            yield seen("length_cap_rising", text, capped, onset)
    length = run.get("response_length", 12)
    if length and length.head > 0 and not at_cap:
        yield from _course(run)


def _course(run: Run) -> Iterator[LogSignal]:
    length = run.get("response_length", 12)
    if length is None:
        return
    factor = length.tail / length.head
    text = f"{length.name} went from {number(length.head)} to {number(length.tail)} tokens"
    gains = _gains(run)
    if factor >= _GREW and length.trend.up and length.trend.tau >= 0.4:
        text += "; held-out scores or rewards do not rise" if gains is False else ""
        severity = "" if gains is False else "info"
        yield seen("length_growth", text, length, -1, severity)
    elif factor <= _SHRANK and length.trend.down:
        severity = "" if gains is False else "info"
        yield seen("length_collapse", text, length, -1, severity)


def _gains(run: Run) -> bool | None:
    """Whether held-out scores rise over the run; by the reward when there are none."""
    score = run.get("eval_score", 5)
    if score:
        reward = run.reward
        gain = reward.tail - reward.head if reward else 0.0
        risen = score.tail - score.head
        return score.trend.tau >= 0.4 and risen > 0.15 * gain
    return run.progress
