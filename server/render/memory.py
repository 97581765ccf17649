"""A memory estimate as text: one bar per phase, the terms of the largest, and what would make it fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Data = dict[str, Any]

_BAR = 40


def memory_text(data: Data) -> str:
    """What a terminal shows, and an MCP client that reads text only."""
    model, gpu = data["model"], data["gpu"]
    usable = gpu["usable_gib"]
    count = f"{gpu['count']} x " if gpu["count"] > 1 else ""
    lines = [
        f"{model['name']} ({model['parameters'] / 1e9:.2f}e9 parameters), {data['framework'] or 'no framework'}, "
        f"{count}{gpu['title']}: {usable:.1f} GiB usable"
    ]
    scale = max(usable, *(phase["total_gib"] for phase in data["phases"]))
    lines += [_bar(phase, usable, scale) for phase in data["phases"]]
    verdict = "fits" if data["fits"] else f"does not fit: {', '.join(data['failing'])}"
    band = data["error_band"]
    lines.append(
        f"peak {data['peak_gib']:.1f} GiB in {data['peak_phase']} ({band['low']:.1f} to {band['high']:.1f}): {verdict}"
    )
    lines += [f"  {phase['name']}: {phase['why']}" for phase in data["phases"] if phase.get("why")]
    for phase in data["phases"]:
        lines += _terms(phase)
    lines += _rollout(data.get("rollout") or {})
    lines += [f"host memory: {row['gib']:.1f} GiB {row['name']}" for row in data.get("host", ())]
    for proposal in data["smallest_changes"]:
        lines += _proposal(proposal)
    lines += [f"assumed: {text}" for text in data.get("assumptions", ())]
    return "\n".join([*lines, *(f"note: {text}" for text in data.get("notes", ()))])


def _bar(phase: Data, usable: float, scale: float) -> str:
    """# for what is used, a bar at the card's end, ! beyond it."""
    width, edge = round(phase["total_gib"] / scale * _BAR), round(usable / scale * _BAR)
    cells = ["#" if cell < edge else "!" for cell in range(width)] + ["."] * (max(edge, width) - width)
    cells.insert(edge, "|")
    return f"  {phase['name']:<12}{''.join(cells):<{_BAR + 2}}{phase['total_gib']:8.1f} GiB"


def _terms(phase: Data) -> Iterable[str]:
    if not phase.get("terms"):
        return
    yield f"{phase['name']}:"
    for term in phase["terms"]:
        formula = f"   {term['formula']}" if term.get("formula") else ""
        yield f"  {term['gib']:8.2f}  {term['name']}{formula}"


def _rollout(cache: Data) -> Iterable[str]:
    if cache:
        yield (
            f"KV cache of the engine: {cache['kv_gib']:.1f} GiB, {cache['kv_tokens']:,} tokens, "
            f"{cache['sequences_at_once']:,} full sequences at once of {cache['sequences_asked']:,} asked"
        )


def _proposal(proposal: Data) -> Iterable[str]:
    yield f"to fit: {'; '.join(proposal['changes'])} -> {proposal['peak_gib']:.1f} GiB in {proposal['peak_phase']}"
    yield from (f"    {edit['key']}={_value(edit['value'])}" for edit in proposal["edits"])


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
