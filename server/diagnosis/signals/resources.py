"""Time and memory: steps that take longer, memory that is not given back, experts that get everything."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from .run import Points, Run, number
from .signal import LogSignal, seen

_SLOWER = 1.5
_GPU_MORE, _HOST_MORE, _HOST_GB = 1.15, 1.25, 8.0
_EXPERT = 4.0  # load of the fullest expert above the mean, as a multiple of the mean


def detect(run: Run) -> Iterator[LogSignal]:
    yield from _time(run)
    yield from _gpu(run)
    host = run.get("host_memory", 10)
    if host and _leaks(host, _HOST_MORE) and host.tail - host.head > _HOST_GB:
        text = f"{host.name} grew from {number(host.head)} to {number(host.tail)} GB"
        text += f", {number(_per_step(host))} GB per step"
        yield seen("host_memory_growth", text, host, -1)
    expert = run.get("expert_violation", 5)
    if expert and expert.tail > _EXPERT and expert.trend.up and expert.tail > 1.5 * expert.head:
        text = f"{expert.name} grew from {number(expert.head)} to {number(expert.tail)}"
        yield seen("expert_overloaded", text, expert, -1)


def _time(run: Run) -> Iterator[LogSignal]:
    time = run.get("step_time", 20) or run.get("step_milliseconds", 20)
    if time is None or time.head <= 0:
        return
    factor = time.tail / time.head
    length = run.get("response_length", 20)
    longer = length.tail / length.head if length and length.head > 0 else 1.0
    if factor < _SLOWER or time.trend.tau < 0.5 or factor < 1.3 * longer:
        return
    text = f"{time.name} grew from {number(time.head)} to {number(time.tail)}"
    text += f" while answers grew {number(longer)} times" if longer > 1.1 else ""
    phases = {name: row for name, row in run.parts("phase_time", 20).items() if row.head >= 0}
    if phases:
        slowest = max(phases.values(), key=lambda row: row.tail - row.head)
        text += f"; most of it in {slowest.name} ({number(slowest.head)} to {number(slowest.tail)})"
    yield seen("step_time_growth", text, time, -1, "" if length else "info")  # longer answers would explain it


def _gpu(run: Run) -> Iterator[LogSignal]:
    memory = run.get("gpu_memory", 4)
    if memory is None or not _leaks(memory, _GPU_MORE):
        return
    length = run.get("response_length", 10)
    longer = length.tail / length.head if length and length.head > 0 else 1.0
    if longer < memory.tail / memory.head:
        text = f"{memory.name} grew from {number(memory.head)} to {number(memory.tail)} over {memory.span}"
        yield seen("gpu_memory_growth", text, memory, -1)


def _leaks(memory: Points, factor: float) -> bool:
    """Growth that does not level off. A peak that is logged never falls, so growth at the start alone says nothing."""
    if memory.head <= 0 or memory.tail < factor * memory.head:
        return False
    if len(memory) < 8:
        return all(left < right for left, right in zip(memory.values, memory.values[1:], strict=False))
    middle = median(memory.values[len(memory) // 2 - 1 : len(memory) // 2 + 2])
    late = memory.tail - middle
    return memory.trend.tau >= 0.7 and late > 0.25 * (memory.tail - memory.head)


def _per_step(memory: Points) -> float:
    span = memory.steps[-1] - memory.steps[0]
    return (memory.tail - memory.head) / span if span > 0 else 0.0
