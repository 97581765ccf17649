"""What is on the GPU in each phase of a step. A phase is a list of terms; its total is their sum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from . import terms
from .plan import Plan
from .terms import GIB, Term

NAMES = ("load", "rollout", "weight sync", "log-prob", "update", "checkpoint")


@dataclass(slots=True)
class Phase:
    name: str
    terms: list[Term] = field(default_factory=list)
    note: str = ""
    blocked: str = ""  # why the phase fails although its sum fits

    @property
    def gib(self) -> float:
        return sum((term.gib for term in self.terms), 0.0)

    @property
    def error_gib(self) -> float:
        """Errors of the terms are taken as independent."""
        return float(sum((term.gib * term.error) ** 2 for term in self.terms) ** 0.5)


def phases(plan: Plan) -> list[Phase]:
    """All phases of one step, in order."""
    made = (_load, _rollout, _sync, _logprob, _update, _checkpoint)
    found = [phase for phase in (make(plan) for make in made) if phase is not None]
    for phase in found:
        phase.terms = [term for term in phase.terms if term.size > 0]
    return found


def _load(plan: Plan) -> Phase:
    """The trainer is built first, then the engine takes its share, measured with everything else that is there."""
    first = _resting(plan, loading=True)
    phase = Phase("load", _kept([*first, *_engine_awake(plan), *_contexts(plan)]))
    engine = plan.rollout
    if _has_engine(plan) and not engine.elsewhere and engine.engine == "vllm":
        free = plan.card.visible_gib - sum(term.gib for term in _kept([*first, *_contexts(plan)]))
        asked = terms.engine_pool(plan).gib
        if asked > free:
            phase.blocked = f"vLLM asks for {asked:.1f} GiB and finds {max(free, 0):.1f} GiB free: it stops at start-up"
    return phase


def _rollout(plan: Plan) -> Phase:
    engine = plan.rollout
    if engine.elsewhere:
        phase = Phase("rollout", _kept([*_engine_alone(plan)]), "on the engine's own GPUs")
    elif engine.engine in ("hf", "none"):
        cache = [terms.generation_cache(plan)] if engine.engine == "hf" else []
        phase = Phase("rollout", _kept([*_model(plan), *_states(plan, resting=True), *cache, *_contexts(plan)]))
    else:
        phase = Phase("rollout", _kept([*_resting(plan), *_engine_awake(plan), *_contexts(plan)]))
    if _has_engine(plan):
        phase.blocked = _too_small(plan)
    return phase


def _too_small(plan: Plan) -> str:
    """An engine whose share leaves no room for one sequence does not start."""
    room = terms.kv_pool(plan)
    tokens = room / terms.kv_bytes_per_token(plan)
    if room <= 0:
        share, weights = terms.engine_pool(plan).gib, terms.engine_weights(plan).gib
        if share < weights and plan.rollout.engine != "shared":
            return f"a share of {share:.1f} GiB for weights of {weights:.1f} GiB: the engine does not start"
        return f"the share of {share:.1f} GiB holds the weights, but no KV cache"
    if tokens < plan.rollout.sequence:
        return f"its KV cache holds {tokens:,.0f} tokens, less than one sequence of {plan.rollout.sequence:,}"
    return ""


def _sync(plan: Plan) -> Phase | None:
    """New weights go from the trainer, which is on the GPU for it, into the engine, which is awake for it."""
    engine = plan.rollout
    if engine.engine in ("hf", "none", "shared"):
        return None
    awake: Iterable[Term | None] = []
    if not engine.elsewhere:
        asleep = engine.sleep_level > 0
        awake = [terms.engine_weights(plan) if asleep else terms.engine_pool(plan), terms.graphs(plan)]
    model = [terms.gathered_layer(plan)] if plan.trainer.weights_on_host else _model(plan)
    model = [*model, terms.summoned_model(plan)]
    return Phase("weight sync", _kept([*model, *_states(plan, resting=True), *awake, *_contexts(plan)]))


def _logprob(plan: Plan) -> Phase:
    own = _kept([*_model(plan), *_states(plan, resting=True), terms.gathered_layer(plan)])
    own += [terms.activations_no_grad(plan), terms.logits(plan, gradient=False)]
    return Phase(
        "log-prob", _kept([*own, *_loose(own), terms.critic(plan, False), *_engine_asleep(plan), *_contexts(plan)])
    )


def _update(plan: Plan) -> Phase:
    """The largest of three moments: the loss with all its logits, a layer recomputed, the optimizer's step."""
    trainer = plan.trainer
    model = [*_model(plan), terms.gathered_layer(plan), *_states(plan, resting=False)]
    grads = [terms.gradients(plan), terms.buckets(plan)]
    logits, layer = terms.logits(plan, gradient=True), terms.recomputed_layer(plan)
    passing = [terms.activations(plan), max((logits, layer), key=lambda term: term.size), terms.autocast_copies(plan)]
    moments = {
        "": [*model, *passing, *(grads if trainer.accumulates or trainer.lora_rank else [])],
        "the optimizer's step needs more than the backward pass": [*model, *grads, terms.step_buffer(plan)],
    }
    note, found = max(moments.items(), key=lambda item: sum(term.size for term in _kept(item[1])))
    own = _kept(found)
    rest = [*_loose(own), terms.critic(plan, True), *_engine_asleep(plan), *_contexts(plan)]
    return Phase("update", _kept([*own, *rest]), note)


def _checkpoint(plan: Plan) -> Phase:
    terms_ = [*_model(plan), terms.gathered_layer(plan), *_states(plan, resting=False)]
    return Phase("checkpoint", _kept([*terms_, *_engine_asleep(plan), *_contexts(plan)]))


def _kept(found: Iterable[Term | None]) -> list[Term]:
    return [term for term in found if term is not None]


def _loose(own: Iterable[Term]) -> list[Term]:
    """Only what comes and goes leaves holes; weights and states are allocated once."""
    moving = ("activations", "logits", "one layer", "gradients", "gathered", "buffers")
    return [terms.fragmentation(sum(term.size for term in own if term.name.startswith(moving)))]


def _model(plan: Plan) -> list[Term | None]:
    """The trainer's weights while the trainer works, and the reference where it has weights of its own."""
    weights = [] if plan.trainer.weights_on_host else [terms.trainer_weights(plan)]
    return [*weights, terms.adapters(plan), terms.reference(plan)]


def _states(plan: Plan, resting: bool) -> list[Term | None]:
    trainer = plan.trainer
    if trainer.states_on_host or (resting and trainer.states_leave):
        return []
    return [terms.optimizer_states(plan)]


def _resting(plan: Plan, loading: bool = False) -> list[Term | None]:
    """What the trainer leaves on the GPU while it waits. Only DeepSpeed has its states before the first step."""
    trainer = plan.trainer
    states = [] if loading and not trainer.master_bytes else _states(plan, resting=True)
    if plan.rollout.elsewhere:
        return _model(plan)
    weights = (
        [] if trainer.weights_leave or trainer.weights_on_host else [terms.trainer_weights(plan), terms.adapters(plan)]
    )
    copy = [] if trainer.reference_leaves else [terms.reference(plan)]
    critic = [] if trainer.weights_leave else [terms.critic(plan, False)]
    return [*weights, *copy, *critic, *states]


def _has_engine(plan: Plan) -> bool:
    return plan.rollout.engine in ("vllm", "sglang", "shared")


def _engine_awake(plan: Plan) -> list[Term | None]:
    if not _has_engine(plan) or plan.rollout.elsewhere:
        return []
    if plan.rollout.engine == "shared":  # the trainer's weights are part of the engine's share
        own = terms.trainer_weights(plan)
        pool = terms.engine_pool(plan)
        rest = Term(
            "rollout engine's share", max(0.0, pool.size - own.size), f"{pool.formula} - weights", pool.source, 0.02
        )
        return [rest, terms.graphs(plan)]
    return [terms.engine_pool(plan), terms.engine_extra(plan), terms.graphs(plan)]


def _engine_alone(plan: Plan) -> list[Term | None]:
    return [terms.engine_pool(plan), terms.engine_extra(plan), terms.graphs(plan), terms.contexts(plan, 1)]


def _engine_asleep(plan: Plan) -> list[Term | None]:
    """What an engine leaves on the GPU while the trainer works."""
    engine = plan.rollout
    if not _has_engine(plan) or engine.elsewhere:
        return []
    if engine.sleep_level == 0:
        return _engine_awake(plan)
    left = [terms.engine_weights(plan)] if engine.keeps_weights else []
    return [*left, terms.graphs(plan)]


def _contexts(plan: Plan) -> list[Term | None]:
    two = _has_engine(plan) and plan.rollout.own_process and not plan.rollout.elsewhere
    return [terms.contexts(plan, 2 if two else 1)]


def host_gib(plan: Plan) -> list[tuple[str, float, str]]:
    """What lies in the host's memory, for all ranks of one node of up to 8 GPUs: (name, GiB, formula)."""
    trainer, engine = plan.trainer, plan.rollout
    ranks = min(trainer.world, 8)
    rows: list[tuple[str, float, str]] = []
    weights = terms.trainer_weights(plan)
    if trainer.weights_leave or trainer.weights_on_host:
        rows.append(("trainer weights, offloaded", ranks * weights.gib, f"{ranks} x {weights.formula}"))
    if trainer.states_leave or trainer.states_on_host:
        states = terms.optimizer_states(plan)
        rows.append(("optimizer states, offloaded", ranks * states.gib, f"{ranks} x {states.formula}"))
    if trainer.states_on_host:
        count = plan.trained_parameters / trainer.gradient_shards
        rows.append(("gradients on the host", ranks * count * 4 / GIB, f"{ranks} x {count:.3g} x 4 B"))
    if _has_engine(plan) and engine.sleep_level == 1 and not engine.keeps_weights and not engine.elsewhere:
        asleep = terms.engine_weights(plan)
        rows.append(("engine weights, asleep at level 1", ranks * asleep.gib, f"{ranks} x {asleep.formula}"))
    full = plan.shape.parameters() * trainer.weight_bytes / GIB
    rows.append(("one full copy while loading and saving", full, f"P x {trainer.weight_bytes:g} B"))
    return rows
