"""The compiled look-up knowledge: one JSON file made by scripts/build_index.py, loaded with the first look-up."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..paths import data_dir

Entry = dict[str, Any]


@lru_cache(maxsize=1)
def lookup() -> dict[str, Any]:
    """Everything: "bugs", "patterns", "symptoms", "skills", "notes", "phrasebooks", "tables", "avoid".

    Raises FileNotFoundError when it was not built.
    """
    with (data_dir("knowledge") / "lookup.json").open(encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def bugs() -> dict[str, Entry]:
    """By id."""
    found: dict[str, Entry] = lookup()["bugs"]
    return found


def patterns() -> dict[str, Entry]:
    """In the order of patterns.yaml."""
    return _by("patterns", "id")


def symptoms() -> dict[str, Entry]:
    """The seeds' 8 first, in the seeds' order."""
    return _by("symptoms", "id")


def skills() -> dict[str, Entry]:
    return _by("skills", "name")


def notes() -> dict[str, Entry]:
    """Front matter and sections; `note_text` reads the note itself."""
    found: dict[str, Entry] = lookup()["notes"]
    return found


def proofs() -> list[Entry]:
    """Derivations: id, title, and "about": the ids of rules, bugs and patterns that they stand behind."""
    found: list[Entry] = lookup()["proofs"]
    return found


def phrasebook(name: str) -> Entry:
    """What users say, cut into words: "symptoms" or "skills", for lookup/matching.py."""
    found: Entry = lookup()["phrasebooks"][name]
    return found


def table(name: str) -> Entry:
    """One of knowledge/tables/: streams, fsdp, moe, seed_matrix, on_demand, vocabulary."""
    found: Entry = lookup()["tables"][name]
    return found


def avoid() -> Entry:
    """What `avoid` writes: "rows", "syntax" by framework, "topics" (focus -> patterns told in words)."""
    found: Entry = lookup()["avoid"]
    return found


@lru_cache(maxsize=8)
def _by(part: str, key: str) -> dict[str, Entry]:
    return {row[key]: row for row in lookup()[part]}


def note_text(name: str) -> str:
    """The whole Markdown file of a note that `notes` names."""
    if name not in notes():
        raise KeyError(name)
    return (data_dir("knowledge") / "notebook" / f"{name}.md").read_text(encoding="utf-8")
