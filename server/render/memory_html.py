"""A memory estimate as one self-contained page: a bar per phase, stacked by term, against the card's memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from .html import document

_WIDTH, _ROW, _LABEL, _RIGHT = 900.0, 46.0, 110.0, 130.0
_COLOURS = (
    "#0b6bcb", "#c4320a", "#2e7d32", "#b45309", "#7b3fb5", "#00838f", "#ad1457", "#5d6d1e", "#3949ab", "#8d6e63",
    "#546e7a", "#d81b60",
)  # fmt: skip


def page(data: Mapping[str, Any]) -> str:
    """The whole page as HTML text. data: of `memory.estimate` with detail "full"; sizes in GiB on one GPU."""
    colours = _colours(data["phases"])
    model, card = data["model"], data["gpu"]
    peak = f"peak {data['peak_gib']:.1f} of {card['usable_gib']} GiB"
    summary = f"{model['name']} on {card['count']} x {card['title']}: {peak}"
    return document(
        "memory",
        [
            "<h1>GPU memory by phase</h1>",
            f'<p class="soft">{escape(summary)}</p>',
            f'<section class="card">{_chart(data["phases"], card["usable_gib"], colours)}{_legend(colours)}</section>',
            "<h2>Terms</h2>",
            *(_phase(phase) for phase in data["phases"]),
            *_changes(data.get("smallest_changes", ())),
        ],
    )


def _colours(phases: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A colour per term, the same in every phase, in order of appearance."""
    names = dict.fromkeys(term["name"] for phase in phases for term in phase["terms"])
    return {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(names)}


def _edit(edit: Mapping[str, Any]) -> str:
    value = edit["value"]
    return f"{edit['key']}={str(value).lower() if isinstance(value, bool) else value}"


def _chart(phases: list[Mapping[str, Any]], usable: float, colours: Mapping[str, str]) -> str:
    widest = max([usable, *(phase["total_gib"] for phase in phases)])
    scale = (_WIDTH - _LABEL - _RIGHT) / widest
    rows = [_bar(phase, row, scale, colours) for row, phase in enumerate(phases)]
    height, limit = len(phases) * _ROW + 24, _LABEL + usable * scale
    line = (
        f'<line x1="{limit:.1f}" x2="{limit:.1f}" y1="0" y2="{height - 22:.0f}" stroke="currentColor" '
        'stroke-dasharray="4 3"/>'
        f'<text x="{limit:.1f}" y="{height - 6:.0f}" font-size="13" text-anchor="middle" fill="currentColor">'
        f"{usable} GiB usable</text>"
    )
    label = "GPU memory of each phase, stacked by term"
    return f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" aria-label="{label}">{"".join(rows)}{line}</svg>'


def _bar(phase: Mapping[str, Any], row: int, scale: float, colours: Mapping[str, str]) -> str:
    top, left, parts = row * _ROW + 8, _LABEL, []
    for term in phase["terms"]:
        width = term["gib"] * scale
        title = f"{term['name']}: {term['gib']:.2f} GiB = {term['formula']}"
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.0f}" width="{max(width, 0):.1f}" height="{_ROW - 16:.0f}" '
            f'fill="{colours[term["name"]]}"><title>{escape(title)}</title></rect>'
        )
        left += width
    middle = top + _ROW / 2 - 3
    state = "" if phase["fits"] else " does not fit"
    parts.append(f'<text x="0" y="{middle:.0f}" font-size="14" fill="currentColor">{escape(phase["name"])}</text>')
    parts.append(
        f'<text x="{left + 6:.1f}" y="{middle:.0f}" font-size="13" fill="currentColor">'
        f"{phase['total_gib']:.1f}{state}</text>"
    )
    return "".join(parts)


def _legend(colours: Mapping[str, str]) -> str:
    items = "".join(
        f'<span style="white-space:nowrap;margin-right:1rem"><i style="display:inline-block;width:.7em;height:.7em;'
        f'border-radius:2px;background:{colour}"></i> {escape(name)}</span> '
        for name, colour in colours.items()
    )
    return f'<p class="soft">{items}</p>'


def _phase(phase: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(term['name'])}</td><td>{term['gib']:.2f} GiB</td>"
        f'<td class="soft"><code>{escape(term["formula"])}</code></td></tr>'
        for term in phase["terms"]
    )
    state = "fits" if phase["fits"] else '<span class="error">does not fit</span>'
    head = f'<div class="head"><h3>{escape(phase["name"])}</h3><span>{phase["total_gib"]:.1f} GiB, {state}</span></div>'
    return f'<section class="card">{head}<table>{rows}</table></section>'


def _changes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    items = "".join(
        f"<li>{escape('; '.join(row['changes']))}: peak {row['peak_gib']:.1f} GiB"
        f'<br><code class="soft">{escape(" ".join(_edit(edit) for edit in row["edits"]))}</code></li>'
        for row in rows
    )
    return (
        [f'<h2>Smallest changes that make it fit</h2><section class="card"><ul>{items}</ul></section>'] if items else []
    )
