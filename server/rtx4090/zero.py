"""topic=zero: what each ZeRO stage and offload leaves on one card."""

from __future__ import annotations

from ..lookup import entries
from ..memory import zero
from ..memory.cards import Card
from ..memory.terms import CONTEXT_GIB, GIB
from .sections import Report, Section, shape
from .single import bug_line, meets, split

LEAST_ROOM_GIB = 2.0  # a micro-batch of one sequence needs about that much
_MODELS = ("Qwen2.5-0.5B", "Qwen2.5-1.5B", "Qwen2.5-3B", "Qwen3-4B", "Qwen2.5-7B")


def report(card: Card) -> Report:
    found = Report(
        references=["https://arxiv.org/abs/1910.02054", "https://deepspeed.readthedocs.io/en/latest/memory.html"]
    )
    found.sections += [_stages(card, found), _offload(card, found), _rules(card), _bugs(card)]
    return found


def _stages(card: Card, found: Report) -> Section:
    section = Section("Stages on one GPU, full training with Adam, GiB of model states")
    for name in _MODELS:
        count = shape(name).parameters()
        totals = [sum(zero.model_states(count, stage, 1).values()) / GIB for stage in zero.STAGES]
        found.memory.append(
            {"model": name, **{f"stage_{stage}": round(total, 1) for stage, total in enumerate(totals)}}
        )
        same = "all stages" if len({round(total, 3) for total in totals}) == 1 else "by stage"
        section.lines.append(f"{name}: {totals[0]:.1f} in {same}: {_verdict(totals[0], card)}")
    section.lines.append("With one rank there is nothing to divide: only offload saves memory, whatever the stage.")
    return section


def _offload(card: Card, found: Report) -> Section:
    section = Section("With offload, GiB on the GPU and on the host (without activations and logits)")
    for name in _MODELS:
        model = shape(name)
        count = model.parameters()
        states = zero.model_states(count, 2, 1)
        optimizer = states["weights"] / GIB
        weights = 2 * (2 * model.layer_parameters() + model.embedding_parameters()) / GIB
        host = (states["optimizer"] + 4 * count) / GIB
        row = {"model": name, "optimizer_on_host": round(optimizer, 1), "all_on_host": round(weights, 1)}
        found.memory.append(row)
        section.lines.append(
            f"{name}: optimizer on the host (stage 1 to 3) {optimizer:.1f}, {_verdict(optimizer, card)}; weights too "
            f"(stage 3 only) {weights:.1f}, {_verdict(weights, card)}; host {host:.1f} to {host + 2 * count / GIB:.1f}"
        )
    section.lines.append(
        "offload_param exists in stage 3 only, so on one card stage 3 is what trains a model above its memory."
    )
    return section


def _verdict(size: float, card: Card) -> str:
    room = card.visible_gib - CONTEXT_GIB - size
    if room < 0:
        return f"{-room:.1f} too much"
    return f"{'fits' if room >= LEAST_ROOM_GIB else 'too tight'}, {room:.1f} left for activations and logits"


def _rules(card: Card) -> Section:
    section = Section("Rules of validate that can fire on one card")
    for id, rule in entries.rules().items():
        zero_rule = "zero" in rule.get("focus", ()) or id.startswith(("zero", "overlap-comm", "offload-drops"))
        if zero_rule and meets(rule, card):
            section.lines.append(f"{id}: {rule['title']}")
    for id in ("D01", "N01", "N03", "N15"):
        row = entries.seed_rows()[id]
        section.lines.append(f"seeds' {id} '{row['title']}' [{row['answer']}]: {row['note']}")
    return section


def _bugs(card: Card) -> Section:
    from ..store import lookup as store

    met, not_met = split((bug for bug in store.bugs().values() if bug["package"] == "deepspeed"), card)
    section = Section(f"DeepSpeed bugs that one card can meet ({len(met)}; {len(not_met)} cannot happen on it)")
    section.lines = [bug_line(bug) for bug in met[:8]]
    return section
