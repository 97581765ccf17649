"""All detectors over one reading. Each answers one question, and stays silent when its metrics are not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...logs import LogReading
from . import crashes, engine_gap, gradients, groups, lengths, normal, not_finite, policy, resources, rewards, silence
from .run import Run
from .signal import LogSignal

__all__ = ["LogSignal", "detect"]

_DETECTORS: tuple[Callable[[Run], Iterator[LogSignal]], ...] = (
    not_finite.detect,
    crashes.detect,
    silence.detect,
    gradients.detect,
    rewards.detect,
    groups.detect,
    policy.detect,
    engine_gap.detect,
    lengths.detect,
    resources.detect,
)
_ORDER = {"error": 0, "warning": 1, "info": 2}


def detect(reading: LogReading) -> list[LogSignal]:
    """What is out of the ordinary, errors first, then by step; when nothing is, that is said as an info signal."""
    run = Run(reading)
    found = [signal for detector in _DETECTORS for signal in detector(run)]
    found += normal.detect(run, found)
    return sorted(found, key=lambda row: (_ORDER[row.severity], row.step if row.step is not None else 1 << 60))
