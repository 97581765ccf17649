"""topic=muon: what Muon costs beside Adam, and whether its faults concern one card."""

from __future__ import annotations

from ..lookup import entries
from ..memory.cards import Card
from ..memory.terms import CONTEXT_GIB, GIB
from .sections import Report, Section, shape
from .single import bug_line, meets, patterns, split
from .zero import LEAST_ROOM_GIB

_MODELS = ("Qwen2.5-0.5B", "Qwen2.5-1.5B", "Qwen2.5-3B", "Qwen2.5-7B")


def report(card: Card) -> Report:
    found = Report(references=["https://github.com/NVIDIA/Megatron-LM/issues/5394"])
    found.sections += [_memory(card, found), _rules(card), _bugs(card)]
    return found


def _memory(card: Card, found: Report) -> Section:
    """Muon keeps one fp32 momentum for the matrices of the layers; embeddings and norms stay with Adam."""
    section = Section(
        "Full training, 16-bit weights and gradients, fp32 copy: GiB of model states with Adam and with Muon"
    )
    for name in _MODELS:
        model = shape(name)
        count, matrices = model.parameters(), model.linear_parameters()
        adam = 16 * count / GIB
        muon = (8 * count + 4 * matrices + 8 * (count - matrices)) / GIB
        room = card.visible_gib - CONTEXT_GIB - LEAST_ROOM_GIB
        verdict = "neither fits" if muon > room else "both fit" if adam <= room else "only Muon fits"
        found.memory.append({"model": name, "adam_gib": round(adam, 1), "muon_gib": round(muon, 1), "verdict": verdict})
        section.lines.append(f"{name}: Adam {adam:.1f}, Muon {muon:.1f} (saves {1 - muon / adam:.0%}): {verdict}")
    adapter = 8 * shape("Qwen2.5-7B").lora_parameters(32) / GIB
    section.lines.append(f"With LoRA there is nothing to save: Adam's states are {adapter:.1f} GiB for 7B at r = 32.")
    return section


def _rules(card: Card) -> Section:
    section = Section("Rules of validate on Muon that can fire on one card")
    for id, rule in entries.rules().items():
        if "muon" in id and meets(rule, card):
            section.lines.append(f"{id}: {entries.rule_text(rule)}")
    for id in ("N02", "N13"):
        row = entries.seed_rows()[id]
        section.lines.append(f"seeds' {id} '{row['title']}' [{row['answer']}]: {row['note']}")
    return section


def _bugs(card: Card) -> Section:
    met, not_met = split(patterns("muon_clipping"), card)
    section = Section(f"Bugs of Muon and clipping that one card can meet ({len(met)})")
    section.lines = [bug_line(bug) for bug in met]
    section.lines += [f"not on one card: {id}, {reason}" for id, reason in not_met]
    return section
