"""Cards by the names users write: knowledge/gpus, and how much of a card's memory a program can have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..configs.values import InputError
from ..store import memory as store

VISIBLE = 0.98  # of the memory as sold: a 24 GB card shows 23.5 GiB, and no process gets more


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU. `memory_gib` is what is sold as GB; drivers show a little less of it as GiB."""

    id: str
    title: str
    memory_gib: float
    vendor: str

    @property
    def visible_gib(self) -> float:
        return self.memory_gib * VISIBLE


def card(name: str) -> Card:
    """The card that a name means ("4090", "NVIDIA A100-SXM4-80GB"). Raises InputError with the nearest names."""
    plain = _plain(name)
    for id, entry in store.gpus().items():
        if plain in {_plain(spelling) for spelling in (id, entry["title"], *entry.get("names", ()))}:
            return _of_entry(id, entry)
    from rapidfuzz import fuzz, process

    known = {spelling: id for id, entry in store.gpus().items() for spelling in (id, *entry.get("names", ()))}
    near = process.extractOne(plain, {spelling: _plain(spelling) for spelling in known}, scorer=fuzz.ratio)
    hint = f" (did you mean {known[near[2]]}?)" if near and near[1] >= 60 else ""
    raise InputError(f"unknown GPU {name[:60]!r}{hint}; known are {', '.join(store.gpus())}")


def cards() -> list[Card]:
    """All cards, the smallest memory first."""
    found = (_of_entry(id, entry) for id, entry in store.gpus().items())
    return sorted(found, key=lambda item: (item.memory_gib, item.id))


def _of_entry(id: str, entry: dict[str, Any]) -> Card:
    return Card(id, entry["title"], float(entry["memory_gib"]), entry["vendor"])


def _plain(name: str) -> str:
    return re.sub(r"nvidia|geforce|tesla|[^a-z0-9]", "", name.lower())
