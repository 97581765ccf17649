"""Whether a plan fits its card, and the smallest changes that make it fit: every one is computed, none is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from . import shapes
from .cards import Card, cards
from .changes import Change, changes, merged
from .phases import Phase, phases
from .plan import Plan
from .shapes import Shape

_MOST_TOGETHER = 4  # changes proposed as one set
_WORLDS = (2, 4, 8, 16, 32, 64)


@dataclass(slots=True)
class Proposal:
    """Changes that together make the run fit, with the peak that they leave."""

    changes: list[str]
    edits: list[dict[str, Any]] = field(default_factory=list)
    peak_gib: float = 0.0
    peak_phase: str = ""


def problem(phase: Phase, card: Card) -> str:
    """Why a phase fails on a card, "" when it does not."""
    if phase.blocked:
        return phase.blocked
    over = phase.gib - card.visible_gib
    return f"{phase.gib:.1f} GiB of {card.visible_gib:.1f} GiB" if over > 0 else ""


def fits(plan: Plan) -> bool:
    """Whether every phase fits."""
    return not any(problem(phase, plan.card) for phase in phases(plan))


def peak(plan: Plan) -> Phase:
    return max(phases(plan), key=lambda phase: phase.gib)


def smallest_changes(plan: Plan) -> list[Proposal]:
    """Up to three sets of changes, the smallest and cheapest first; then more GPUs, fewer parameters, a larger card.

    When nothing that is computed here makes it fit, the one entry says what is left after everything was changed.
    """
    if fits(plan):
        return []
    found = [*_sets(plan), *_more_gpus(plan), *_smaller_model(plan), *_larger_card(plan)]
    return found or [_closest(plan)]


def _sets(plan: Plan) -> list[Proposal]:
    available = [change for change in changes(plan) if change.apply(plan) != plan]
    fitting: list[tuple[Change, ...]] = []
    for size in range(1, min(_MOST_TOGETHER, len(available)) + 1):
        tried = sorted(combinations(available, size), key=lambda chosen: sum(change.cost for change in chosen))
        for chosen in tried:
            if any(set(smaller) <= set(chosen) for smaller in fitting):
                continue
            if fits(_applied(plan, chosen)):
                fitting.append(chosen)
            if len(fitting) == 3:
                break
        if len(fitting) == 3 or (fitting and size >= 2):
            break
    fitting.sort(key=lambda chosen: (sum(change.cost for change in chosen), len(chosen)))
    return [_proposal(plan, chosen) for chosen in fitting[:3]]


def _closest(plan: Plan) -> Proposal:
    """All changes together, which is still too much."""
    everything = changes(plan)
    final = _applied(plan, everything)
    for change in everything:  # some changes make room for others only in this order
        final = change.apply(final)
    proposal = _simple("nothing computed here makes it fit: all of these together still leave this peak", final)
    proposal.changes += [change.text(final) for change in everything if change.apply(plan) != plan]
    return proposal


def _applied(plan: Plan, chosen: Sequence[Change]) -> Plan:
    for change in chosen:
        plan = change.apply(plan)
    return plan


def _proposal(plan: Plan, chosen: Sequence[Change]) -> Proposal:
    """The set in its weakest form that still fits."""
    final = _applied(plan, chosen)
    for change in chosen:
        if change.relax is not None:
            weaker = (merged(final, step, change) for step in change.relax(plan))
            final = next((candidate for candidate in weaker if fits(candidate)), final)
    top = peak(final)
    edits = [edit for change in chosen for edit in change.edits(final)]
    return Proposal([change.text(final) for change in chosen], edits, top.gib, top.name)


# What money or ambition changes ---------------------------------------------------------------------------------------


def _more_gpus(plan: Plan) -> list[Proposal]:
    """The smallest number of such cards with the weights sharded over all of them."""
    trainer = plan.trainer
    if not (trainer.fsdp or trainer.state_shards == trainer.world or plan.framework in ("verl", "openrlhf")):
        return []
    for world in (size for size in _WORLDS if size > trainer.world):
        wider = replace(
            plan,
            trainer=replace(
                trainer,
                world=world,
                weight_shards=world if trainer.fsdp else trainer.weight_shards,
                gradient_shards=world if trainer.fsdp or trainer.gradient_shards > 1 else 1,
                state_shards=world,
                reference_shards=world if trainer.fsdp else trainer.reference_shards,
            ),
        )
        if fits(wider):
            return [_simple(f"{world} such cards instead of {trainer.world}", wider)]
    return []


def _smaller_model(plan: Plan) -> list[Proposal]:
    """The largest known model of the same family that fits with nothing else changed."""
    from ..store import memory as store

    family = _family(plan.shape)
    known = [shapes.of_entry(entry) for entry in store.models().values()]
    same = [shape for shape in known if _family(shape) == family and shape.parameters() < plan.shape.parameters()]
    for shape in sorted(same, key=lambda item: -item.parameters()):
        other = replace(plan, shape=shape)
        if fits(other):
            return [_simple(f"{shape.name} instead of {plan.shape.name}", other)]
    return []


def _family(shape: Shape) -> str:
    return (shape.id or shape.name.lower()).split("-")[0]


def _larger_card(plan: Plan) -> list[Proposal]:
    for larger in cards():
        other = replace(plan, card=larger)
        same_kind = larger.vendor == plan.card.vendor
        if same_kind and larger.memory_gib > plan.card.memory_gib and fits(other):
            return [_simple(f"{larger.title} instead of {plan.card.title}", other)]
    return []


def _simple(text: str, plan: Plan) -> Proposal:
    top = peak(plan)
    return Proposal([text], [], top.gib, top.name)
