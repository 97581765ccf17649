"""What a report is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..memory.shapes import Shape, known_shape


@dataclass(slots=True)
class Section:
    title: str
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """`configs`: launchable texts with what our own tools say; `memory`: rows of computed sizes, in GiB."""

    sections: list[Section] = field(default_factory=list)
    configs: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    references: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CardAnswer:
    """What rtx4090 answers, whole."""

    topic: str
    gpu: dict[str, Any]
    sections: list[Section]
    configs: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def shape(name: str) -> Shape:
    """A shape that is part of our own data."""
    found = known_shape(name)
    assert found is not None, name
    return found
