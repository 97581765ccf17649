"""A report for one card as text."""

from __future__ import annotations

from typing import Any


def card_text(data: dict[str, Any]) -> str:
    """What a terminal shows, and an MCP client that reads text only."""
    lines = [f"{data['topic']} on one {data['gpu']['title']} ({data['gpu']['usable_gib']:.1f} GiB usable)"]
    for section in data["sections"]:
        lines += ["", f"== {section['title']}", *(f"- {line}" for line in section["lines"])]
    for row in data.get("configs", ()):
        if "text" in row:
            peak = f"{row['peak_gib']:.1f} GiB in {row['peak_phase']}"
            lines += ["", f"== {row['framework']}, {row['model']} ({row['run']}; peak {peak})", row["text"].rstrip()]
    if data.get("references"):
        lines += ["", *(f"source: {url}" for url in data["references"])]
    return "\n".join([*lines, *(f"note: {note}" for note in data.get("notes", ()))])
