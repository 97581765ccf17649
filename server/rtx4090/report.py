"""rtx4090: the report of a topic for one card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..configs.values import InputError
from ..lookup.short import short, size
from ..memory.cards import Card, card
from ..model import plain
from . import config, fsdp, hazards, moe, muon, playbook, zero
from .sections import CardAnswer, Report, Section

DEFAULT_GPU = "rtx-4090"
TOPICS: dict[str, tuple[str, Callable[[Card], Report]]] = {
    "playbook": ("pre-flight, NaN, memory, convergence, monitoring", playbook.report),
    "config": ("launchable configs that fit and validate", config.report),
    "zero": ("ZeRO stages and offload", zero.report),
    "fsdp": ("FSDP offload and memory", fsdp.report),
    "moe": ("which MoE models fit, and router dtype", moe.report),
    "muon": ("memory of Muon, and its faults", muon.report),
    "nan": ("NaN hazards that the card adds or not", hazards.nan),
    "streams": ("stream faults that one card can meet", hazards.streams),
    "knowledge": ("the seeds' decisions that hold", hazards.knowledge),
}
# Lines per section, characters per line, configs of each framework with their text
_SIZES = {"normal": (12, 400, 1), "full": (10_000, 10_000, 100)}
_BRIEF = ((3, 150, 0), (2, 130, 0), (1, 130, 0))  # the first that fits
_BRIEF_CHARS = 3_200


def report(topic: str = "", gpu: str = "", detail: str = "full") -> dict[str, Any]:
    """The report as JSON types: topic, gpu, sections, configs, memory, references, notes.

    Raises InputError for a topic or card that is unknown, with the nearest names.
    """
    name = _topic(topic)
    chosen = card(gpu or DEFAULT_GPU)
    told = TOPICS[name][1](chosen)
    if detail != "brief":
        return _shaped(name, chosen, told, detail, _SIZES[detail])
    answers = (_shaped(name, chosen, told, detail, sizes) for sizes in _BRIEF)
    for answer in answers:
        if size(answer) <= _BRIEF_CHARS:
            break
    return answer


def _topic(text: str) -> str:
    plain = text.strip().lower() or "playbook"
    if plain in TOPICS:
        return plain
    from ..lookup.names import nearest

    hint = nearest(plain, TOPICS, 55)
    raise InputError(f"no topic {text.strip()[:60]!r}{hint}; there are {', '.join(TOPICS)}")


def _shaped(name: str, chosen: Card, told: Report, detail: str, sizes: tuple[int, int, int]) -> dict[str, Any]:
    lines, chars, configs = sizes
    if name == "config":
        configs = max(configs, 1)  # a report of configs without one would be none
    sections = [
        Section(short(section.title, chars), [short(line, chars) for line in section.lines[:lines]])
        for section in told.sections
    ]
    cut = sum(max(0, len(section.lines) - lines) for section in told.sections)
    rows = _configs(told.configs, configs)
    texts = [row for row in rows if "text" in row]
    if detail == "brief":
        texts = sorted(texts, key=lambda row: str(row["framework"]) != "verl")[:1]
    answer = CardAnswer(
        topic=name,
        gpu={"id": chosen.id, "title": chosen.title, "usable_gib": round(chosen.visible_gib, 2)},
        sections=sections,
        configs=texts if detail == "brief" else rows,
        memory=told.memory if detail == "full" else [],
        references=told.references,
    )
    if cut:
        answer.notes.append(f"cut: {cut} more lines; raise `detail`")
    if len(texts) < len(rows):
        answer.notes.append(f"{len(rows) - len(texts)} more configs with their text: detail=full")
    data: dict[str, Any] = plain(answer)
    return {key: value for key, value in data.items() if value not in ([], {}) or key in ("sections", "configs")}


def _configs(found: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The configs, the largest model first; only the first `most` of each framework with their text."""
    rows, seen = [], dict.fromkeys((row["framework"] for row in found), 0)
    for row in reversed(found):
        seen[row["framework"]] += 1
        with_text = seen[row["framework"]] <= most
        rows.append(row if with_text else {key: value for key, value in row.items() if key != "text"})
    return rows
