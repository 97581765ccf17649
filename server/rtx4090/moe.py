"""topic=moe: which mixture-of-experts models fit, and what their routers need."""

from __future__ import annotations

from ..lookup import entries
from ..memory import shapes
from ..memory.cards import Card
from ..memory.terms import GIB, NF4_BYTES
from ..store import lookup as store
from ..store import memory as data
from .sections import Report, Section
from .single import bug_line, meets, patterns, split


def report(card: Card) -> Report:
    found = Report(references=["https://arxiv.org/abs/2305.14314", "https://arxiv.org/abs/2101.03961"])
    found.sections += [_sizes(card, found), _routers(card), _platforms(card), _bugs(card)]
    return found


def _sizes(card: Card, found: Report) -> Section:
    """All experts are resident; a colocated engine has a second copy of them."""
    section = Section(
        f"MoE models on {card.visible_gib:.1f} GiB: weights in bf16, two copies, 4 bit (all experts resident)"
    )
    models = [shapes.of_entry(entry) for entry in data.models().values() if entry.get("experts")]
    for model in sorted(models, key=lambda item: item.parameters()):
        once = 2 * model.parameters() / GIB
        quantised = model.linear_parameters()
        small = (NF4_BYTES * quantised + 2 * (model.parameters() - quantised)) / GIB
        fitting = [
            text
            for text, size in (("4 bit", small), ("one bf16 copy", once), ("two bf16 copies", 2 * once))
            if size < card.visible_gib
        ]
        verdict = f"weights fit as {', '.join(fitting)}" if fitting else "does not fit in any of these ways"
        found.memory.append({"model": model.name, "active": round(model.active_parameters() / 1e9, 1),
                             "bf16_gib": round(once, 1), "nf4_gib": round(small, 1), "fits": fitting})  # fmt: skip
        section.lines.append(
            f"{model.name} ({model.parameters() / 1e9:.1f}e9, {model.active_parameters() / 1e9:.1f}e9 active): "
            f"{once:.1f}, {2 * once:.1f}, {small:.1f} GiB; {verdict}"
        )
    section.lines.append(
        "Weights only: adapters, KV cache, logits and contexts come on top (estimate_memory has them)."
    )
    return section


def _routers(card: Card) -> Section:
    section = Section("Router dtype and fp16: rules of validate that can fire on one card")
    for id, rule in entries.rules().items():
        if id.startswith("moe-") and meets(rule, card):
            section.lines.append(f"{id}: {entries.rule_text(rule)}")
    for id in ("D13", "D17", "N14"):
        row = entries.seed_rows()[id]
        section.lines.append(f"seeds' {id} '{row['title']}' [{row['answer']}]: {row['note']}")
    return section


def _platforms(card: Card) -> Section:
    section = Section("NaN of MoE models by platform")
    for row in store.table("moe").get("platforms", []):
        ascend = "Ascend" in row["platform"]
        if ascend != (card.vendor == "huawei") and ascend:
            continue
        section.lines.append(f"{row['platform']}: {row['cause']} {row['fix']}")
    return section


def _bugs(card: Card) -> Section:
    met, not_met = split(patterns("discrete_decision_mismatch"), card)
    section = Section(f"Bugs of expert choice that one card can meet ({len(met)}; {len(not_met)} cannot happen on it)")
    section.lines = [bug_line(bug) for bug in met[:6]]
    return section
