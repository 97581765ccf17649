"""Crashes and hangs: memory that ran out and in which phase, watchdogs, dead workers, silent ranks."""

from __future__ import annotations

from collections.abc import Iterator

from ...logs.model import Event
from .run import Run, number
from .signal import LogSignal, signal

_PHASES = {"start", "wake_up", "sync", "rollout", "log_prob", "update"}
_KINDS = {
    "host_oom": "host_oom",
    "watchdog": "collective_timeout",
    "silent_rank": "silent_rank",
    "engine_dead": "worker_dead",
    "killed": "process_killed",
    "waiting": "waits_for_resources",
    "illegal_access": "illegal_access",
}
# What a run can live through when the next steps follow.
_SURVIVED = {"exception", "worker_dead", "process_killed", "waits_for_resources", "illegal_access"}


def detect(run: Run) -> Iterator[LogSignal]:
    """One signal per kind and phase, at its first line; further ones are counted."""
    groups: dict[str, list[Event]] = {}
    for event in run.reading.events:
        groups.setdefault(_signal_of(event), []).append(event)
    if len(groups) > 1:  # an exception that only reports the crash says nothing new
        groups.pop("exception", None)
    for name, events in groups.items():
        first = events[0]
        text = first.text
        text += f" (phase: {first.phase})" if first.phase else ""
        text += f"; at {first.frames[-1]}" if first.frames else ""
        text += f"; {len(events)} such lines" if len(events) > 1 else ""
        ranks = sorted({event.rank for event in events if event.rank is not None})
        text += f"; ranks {', '.join(map(str, ranks[:8]))}" if ranks else ""
        severity = ""
        if name in _SURVIVED and (later := _went_on(run, events[-1])) is not None:
            severity = "info" if name == "exception" else "warning"
            text += f"; the run went on to step {number(later)}"
        yield signal(name, text, source="log", step=first.step, line=first.line, severity=severity)


def _went_on(run: Run, event: Event) -> float | None:
    """The last step of the same log when it lies well behind the event."""
    last = max((row.last_step for row in run.reading.sources if row.path == event.file and row.last_step), default=None)
    return last if last is not None and event.step is not None and last > event.step + 2 else None


def _signal_of(event: Event) -> str:
    if event.kind == "gpu_oom":
        return f"oom_{event.phase}" if event.phase in _PHASES else "oom_other"
    return _KINDS.get(event.kind, "exception")
