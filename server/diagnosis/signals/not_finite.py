"""Which metric stops being a number first, at which step, and what came before."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...logs.model import Series
from .run import Run, number
from .signal import LogSignal, seen, signal

# Which signal a metric belongs to. Others are mentioned only: some are undefined by nature, as a reward function that
# judged nothing, or the explained variance of equal returns.
_KINDS = {
    "grad_norm": "nonfinite_grad_norm",
    "loss": "nonfinite_loss",
    "policy_loss": "nonfinite_loss",
    "entropy": "nonfinite_loss",
    "kl": "nonfinite_kl",
    "ppo_kl": "nonfinite_kl",
    "reward_mean": "nonfinite_reward",
    "score_mean": "nonfinite_reward",
    "prob_gap": "nonfinite_gap",
    "logp_gap": "nonfinite_gap",
    "engine_kl": "nonfinite_gap",
    "ratio_mean": "nonfinite_gap",
}
_OVERFLOWS = 0.1  # share of steps that fp16 scaling may skip; at its start it skips some by design


def detect(run: Run) -> Iterator[LogSignal]:
    """One signal per kind, first the metric that broke first."""
    series = run.reading.series
    first = {name: row for name in _KINDS if name in series and (row := next(series[name].not_finite(), None))}
    order = sorted(first, key=lambda name: (first[name][2], first[name][0]))
    told: set[str] = set()
    for name in order:
        if _KINDS[name] not in told:
            told.add(_KINDS[name])
            yield _signal(run, name, first[name], order)
    if order:
        yield from _before(run, order[0], first[order[0]][0])
    else:
        yield from _others(run)
    yield from _scaling(run)


def _signal(run: Run, name: str, row: tuple[float, float, int], order: list[str]) -> LogSignal:
    series = run.reading.series[name]
    step, value, line = row
    count = sum(1 for _ in series.not_finite())
    text = f"{series.name} is {value} at step {number(step)} ({count} of {len(series)} values are not finite)"
    before = [found for found in series.finite() if found[2] < line]
    if before:
        text += f"; last finite value {number(before[-1][1])} at step {number(before[-1][0])}"
    if name == order[0] and len(order) > 1:
        text += f"; broke before {run.reading.series[order[1]].name}"
    return signal(_KINDS[name], text, step=step, line=line, metric=series.name)


def _before(run: Run, name: str, step: float) -> Iterator[LogSignal]:
    series = run.reading.series[name]
    if not math.isfinite(series.values[0]):
        if series.steps[0] <= 3 and len(series) > 1:
            text = f"{series.name} is not finite at its first step, {number(step)}"
            yield signal("nonfinite_from_start", text, step=step, metric=series.name)
        return
    norm = run.get("grad_norm", 12)
    if norm is None:
        return
    earlier = [value for at, value in zip(norm.steps, norm.values, strict=True) if at < step]
    if len(earlier) >= 10:
        usual = sorted(earlier[: len(earlier) // 2])[len(earlier) // 4]
        peak = max(earlier[-max(3, len(earlier) // 10) :])
        if usual > 0 and peak > 5 * usual:
            text = f"{norm.name} reached {number(peak)} just before, {number(peak / usual)} times its earlier median"
            yield signal("nonfinite_after_growth", text, step=step, metric=norm.name)


def _others(run: Run) -> Iterator[LogSignal]:
    rows = [(row, series) for series in _rest(run) if (row := next(_nans(series), None))]
    if rows:
        rows.sort(key=lambda pair: pair[0][2])
        (step, value, line), series = rows[0]
        names = ", ".join(found.name for _, found in rows[:4])
        text = f"{names}: {value} at step {number(step)}"
        alone = len(run.reading.series) == 0  # nothing else is known of the run
        severity = "warning" if alone else "info"
        yield signal("nonfinite_other", text, step=step, line=line, metric=series.name, severity=severity)


def _rest(run: Run) -> Iterator[Series]:
    yield from (series for name, series in run.reading.series.items() if name not in _KINDS)
    yield from run.reading.native.values()


def _nans(series: Series) -> Iterator[tuple[float, float, int]]:
    return (row for row in series.not_finite() if math.isnan(row[1]))


def _scaling(run: Run) -> Iterator[LogSignal]:
    """fp16: skipped steps and iterations that Megatron counts as NaN."""
    counted = run.get("nan_iterations")
    if counted and max(counted.values) > 0:
        place = next(place for place, value in enumerate(counted.values) if value > 0)
        text = f"{counted.name} is {number(max(counted.values))}"
        yield seen("nonfinite_loss", text, counted, place)
    skipped = run.reading.native.get("overflow")
    if skipped and len(skipped) >= 5:
        scale = run.get("loss_scale")
        low = bool(scale and scale.values[-1] <= 1)
        if low or len(skipped) >= 20:
            text = f"{len(skipped)} steps skipped for overflow"
            text += f"; loss scale down to {number(scale.values[-1])}" if scale else ""
            yield signal("fp16_overflow_steps", text, step=skipped.steps[-1], line=skipped.lines[-1])
    elif (scale := run.get("loss_scale", 5)) and scale.values[0] > 1 and scale.values[-1] <= 1:
        text = f"{scale.name} fell from {number(scale.values[0])} to {number(scale.values[-1])}"
        yield seen("fp16_overflow_steps", text, scale, -1)
