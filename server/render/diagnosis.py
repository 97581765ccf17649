"""A Diagnosis as text: for a terminal, and a shorter one for clients that show text only."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..configs.files import printable

_WIDTH = 100
_SIGNALS = 8
_BARS = "▁▂▃▄▅▆▇█"
_PARTS = (("for", "evidence"), ("against", "against"), ("check", "confirm"), ("fix", "fix"))


def text_of(data: dict[str, Any], curves: dict[str, Sequence[float]] | None = None) -> str:
    """What was seen, the causes with their evidence, and what to supply next.

    data: of `diagnosis.short.to_data`. curves: metrics to draw as sparklines, by name.
    """
    lines: list[str] = []
    if data.get("not_a_fault"):
        lines += [*_wrapped(f"Probably not a fault: {data['not_a_fault']}", ""), ""]
    for row in data["hypotheses"]:
        lines += [*_hypothesis(row), ""]
    if data.get("signals"):
        lines += ["Seen", *(_signal(row) for row in data["signals"][:_SIGNALS]), ""]
    if curves:
        wide = max(map(len, curves))
        lines += ["Metrics", *(f"  {name:{wide}}  {sparkline(values)}" for name, values in curves.items()), ""]
    lines += [line for note in data.get("notes", ()) for line in _wrapped(note, "")]
    if data.get("ask_next"):
        lines += ["Would help", *(line for asked in data["ask_next"] for line in _wrapped(asked, "  - "))]
    return "\n".join(lines).rstrip()


def sparkline(values: Sequence[float], width: int = 48) -> str:
    """The course of a metric in one line; "!" where it is not finite."""
    step = max(1, -(-len(values) // width))
    cells = [values[at : at + step] for at in range(0, len(values), step)]
    finite = [value for value in values if _is_finite(value)]
    if not finite:
        return "!" * len(cells)
    low, span = min(finite), (max(finite) - min(finite)) or 1.0
    return "".join(_bar(cell, low, span) for cell in cells)


def _bar(cell: Sequence[float], low: float, span: float) -> str:
    if not all(map(_is_finite, cell)):
        return "!"
    return _BARS[min(len(_BARS) - 1, int((sum(cell) / len(cell) - low) / span * len(_BARS)))]


def _is_finite(value: float) -> bool:
    return value - value == 0


def _hypothesis(row: dict[str, Any]) -> Iterable[str]:
    yield f"{row['rank']}. {row['title']}  [{row['pattern']}, {row['confidence']:.0%}]"
    for head, name in _PARTS:
        for text in row.get(name, ()):
            yield from _wrapped(printable(text, 600), f"   {head:8}")
            head = ""
    if row.get("bugs"):
        yield from _wrapped(", ".join(row["bugs"]), f"   {'bugs':8}")
    for url in row.get("references", ())[:2]:
        yield f"   {'see':8}{url}"


def _signal(row: dict[str, Any]) -> str:
    place = f" (line {row['line']})" if row.get("line") else ""
    step = f" (step {row['step']})" if row.get("step") is not None else ""
    return f"  {row['severity']:8}{row['title']}{step}{place}: {printable(row['evidence'], 160)}"


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead)) or [lead]
