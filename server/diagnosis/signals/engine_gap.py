"""Engine against trainer: high from the start, growing, jumping; importance weights; draft tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .run import Points, Run, number
from .signal import LogSignal, seen
from .statistics import change_point


@dataclass(frozen=True)
class _Limits:
    """What is normal up to, and what is high from."""

    normal: float
    high: float


# prob_gap: verl's FAQ (normal below 0.005, an issue above 0.01). engine_kl: NeMo-RL's guide (acceptable below 1e-3).
# prob_ratio_error: NeMo-RL's guide (a factor of 1.05; here its distance from 1). logp_gap and ratio_mean (also
# its distance from 1): choice.
_LIMITS = {
    "prob_gap": _Limits(0.005, 0.01),
    "engine_kl": _Limits(0.001, 0.02),
    "logp_gap": _Limits(0.05, 0.1),
    "prob_ratio_error": _Limits(0.02, 0.05),
    "ratio_mean": _Limits(0.1, 0.25),
}
_AROUND_ONE = {"prob_ratio_error", "ratio_mean"}
_CORRELATION = 0.95
_SAMPLES = 0.3
_DRAFT_ALIVE, _DRAFT_LOST = 1.5, 1.1


def detect(run: Run) -> Iterator[LogSignal]:
    told = False
    for name, limits in _LIMITS.items():
        gap = run.get(name)
        if gap and name in _AROUND_ONE:
            gap = Points(
                f"the distance of {gap.name} from 1", gap.steps, [abs(value - 1) for value in gap.values], gap.lines
            )
        if gap and not told:
            for found in _gap(gap, limits):
                told = found.severity != "info"
                yield found
    if not told:
        yield from _correlation(run)
    yield from _weights(run)
    yield from _draft(run)


def _gap(gap: Points, limits: _Limits) -> Iterator[LogSignal]:
    if gap.tail <= limits.normal:
        return
    text = f"{gap.name} went from {number(gap.head)} to {number(gap.tail)} (normal up to {limits.normal:g})"
    jump = change_point(gap.values) if len(gap) >= 8 else None
    if jump and jump[1] < limits.high <= jump[2] and jump[2] > 4 * max(jump[1], 1e-9) and _sudden(gap, jump):
        at = jump[0]
        text = f"{gap.name} jumps from {number(jump[1])} to {number(jump[2])} at step {number(gap.steps[at])}"
        yield seen("gap_jump", text, gap, at)
    elif len(gap) >= 8 and gap.trend.tau >= 0.5 and gap.trend.up and gap.tail > 2 * gap.head and gap.tail > limits.high:
        onset = next(place for place, value in enumerate(gap.values) if value > limits.normal)
        yield seen("gap_grows", text, gap, onset)
    elif gap.tail > limits.high:
        yield seen("gap_high", text, gap, 0, "" if len(gap) >= 3 or gap.tail > 3 * limits.high else "info")
    else:
        yield seen("gap_elevated", text, gap, -1)


def _sudden(gap: Points, jump: tuple[int, float, float]) -> bool:
    """Most of the difference lies within few steps around the cut."""
    place, before, after = jump
    near = gap.values[max(0, place - 2) : place + 2]
    return max(near) - min(near) > 0.6 * (after - before)


def _correlation(run: Run) -> Iterator[LogSignal]:
    related = run.get("prob_correlation", 3)
    if related and related.tail < _CORRELATION:
        falls = related.head - related.tail > 0.02 and related.trend.tau <= -0.5
        text = f"{related.name} went from {number(related.head)} to {number(related.tail)}"
        kind = "gap_grows" if falls else "gap_high"
        yield seen(kind, text, related, -1, "warning")


def _weights(run: Run) -> Iterator[LogSignal]:
    kept = run.get("is_sample_size", 3)
    if kept and kept.tail < _SAMPLES:
        text = f"{kept.name} is {number(kept.tail)}"
        yield seen("is_samples_few", text, kept, -1)


def _draft(run: Run) -> Iterator[LogSignal]:
    accepted = run.get("spec_accept_length", 2)
    if accepted and accepted.values[0] >= _DRAFT_ALIVE and max(accepted.values[1:]) <= _DRAFT_LOST:
        text = f"{accepted.name} fell from {number(accepted.values[0])} to {number(accepted.values[1])} and stays there"
        yield seen("draft_lost", text, accepted, 1)
