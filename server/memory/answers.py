"""What estimate_memory answers, whole: plain dataclasses, sizes in GiB."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class TermRow:
    """`error` is relative: 0.25 says that the true figure lies within 25 % in most runs."""

    name: str
    gib: float
    formula: str
    source: str
    error: float


@dataclass(slots=True)
class PhaseRow:
    """`why` says what fails: a sum above the card, or an engine that would not start."""

    name: str
    terms: list[TermRow]
    total_gib: float
    fits: bool
    why: str = ""
    note: str = ""


@dataclass(slots=True)
class ModelRow:
    name: str
    parameters: int
    kv_bytes_per_token: int
    active_parameters: int | None = None
    lora_parameters: int | None = None


@dataclass(slots=True)
class GpuRow:
    """`usable_gib`: what the driver shows of the memory as sold."""

    id: str
    title: str
    memory_gib: float
    usable_gib: float
    count: int


@dataclass(slots=True)
class HostRow:
    name: str
    gib: float
    formula: str


@dataclass(slots=True)
class ChangeRow:
    """Changes that together make the run fit, with the peak that they leave; `edits` are native keys and values."""

    changes: list[str]
    edits: list[dict[str, Any]]
    peak_gib: float
    peak_phase: str


@dataclass(slots=True)
class MemoryAnswer:
    model: ModelRow
    gpu: GpuRow
    framework: str
    phases: list[PhaseRow]
    peak_gib: float
    peak_phase: str
    error_band: dict[str, float]
    fits: bool
    failing: list[str]
    rollout: dict[str, Any] = field(default_factory=dict)  # room of the engine's cache, in GiB, tokens and sequences
    host: list[HostRow] = field(default_factory=list)
    smallest_changes: list[ChangeRow] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
