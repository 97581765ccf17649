"""Entries of knowledge/ for the build scripts: load, check against the schema, name the file in every complaint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge"


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def conforms(model: type[BaseModel], entry: Any, path: Path) -> dict[str, Any]:
    """The entry after its schema was checked, dates as text."""
    try:
        model.model_validate(entry)
    except ValidationError as error:
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: {error}") from None
    return {name: str(value) if name == "last_verified" else value for name, value in entry.items()}


def checked(model: type[BaseModel], path: Path) -> dict[str, Any]:
    """The entry of a file, after its schema and its name were checked."""
    entry = conforms(model, load(path), path)
    if entry["id"] != path.stem:
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: id {entry['id']!r} differs from the file name")
    return entry


def ranges_of(events: list[dict[str, str]]) -> list[str]:
    """Range texts from OSV events in order: introduced ... fixed or last_affected, and again."""
    ranges: list[str] = []
    for event in events:
        if "introduced" in event:
            ranges.append("" if event["introduced"] == "0" else f">={event['introduced']}")
        else:
            bound = f"<{event['fixed']}" if "fixed" in event else f"<={event['last_affected']}"
            ranges[-1] = ",".join(filter(None, (ranges[-1], bound)))
    return ranges
