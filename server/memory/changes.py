"""The single changes that save memory: each as a function of the plan, with the native keys that make it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from . import terms
from .plan import Plan
from .terms import GIB

_MOST_STEPS = 64  # sizes of a micro-batch that are tried
_PARTS = range(_MOST_STEPS, 0, -1)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a plan. `cost` orders them: what costs speed before what changes the training itself."""

    name: str
    cost: int
    apply: Callable[[Plan], Plan]
    edits: Callable[[Plan], list[dict[str, Any]]]
    text: Callable[[Plan], str]
    relax: Callable[[Plan], Iterator[Plan]] | None = None  # weaker forms, the weakest first


def changes(plan: Plan) -> list[Change]:
    trainer, engine = plan.trainer, plan.rollout
    found = [_micro_batch(plan), _share(plan)]
    if not trainer.checkpointing:
        found.append(_switch(plan, "gradient checkpointing", 1, "gradient_checkpointing", True, checkpointing=True))
    if not trainer.fused_logits and plan.framework in ("verl", "trl"):
        key = "use_fused_kernels" if plan.framework == "verl" else "use_liger_loss"
        found.append(_switch(plan, "a fused loss, which never holds all logits", 2, key, True, fused_logits=True))
    if engine.engine in ("vllm", "sglang") and not engine.elsewhere and engine.sleep_level == 0:
        key = "free_cache_engine" if plan.framework in ("verl", "rllm", "easyr1") else "sleep_mode"
        found.append(_sleep(plan, key))
    if trainer.summons_model and trainer.weight_shards > 1:
        found.append(_layered(plan))
    found += _offloads(plan)
    if trainer.weight_bytes > 2 and not trainer.four_bit:
        found.append(_half(plan))
    if not trainer.lora_rank:
        found.append(_lora(plan))
    if trainer.reference == "copy":
        found.append(_switch(plan, "no reference model (KL coefficient 0)", 5, "kl_coef", 0.0, reference="none"))
    return found


def _switch(plan: Plan, text: str, cost: int, key: str, value: Any, **parts: Any) -> Change:
    def apply(plan: Plan) -> Plan:
        return replace(plan, trainer=replace(plan.trainer, **parts))

    return Change(text, cost, apply, lambda final: [_edit(final, key, value)], lambda final: text)


def _edit(plan: Plan, name: str, value: Any) -> dict[str, Any]:
    return {"key": plan.keys.get(name, name), "value": value}


def _micro_batch(plan: Plan) -> Change:
    """Tokens of a micro-batch, down to one sequence."""
    trainer, sequence = plan.trainer, plan.rollout.sequence
    least = min(sequence, trainer.update_tokens)

    def at(tokens: int, plan: Plan) -> Plan:
        own = plan.trainer
        share = own.update_logits / own.update_tokens
        other = min(own.logprob_tokens, tokens)
        return replace(
            plan,
            trainer=replace(
                own,
                update_tokens=tokens,
                update_logits=int(tokens * share),
                logprob_tokens=other,
                logprob_logits=int(other * own.logprob_logits / own.logprob_tokens),
            ),
        )

    def relax(start: Plan) -> Iterator[Plan]:
        count = start.trainer.update_tokens // least
        steps = range(count, 1, -1) if count <= _MOST_STEPS else (count * part // _MOST_STEPS for part in _PARTS)
        yield from (at(least * step, start) for step in steps if step > 1)

    def edits(final: Plan) -> list[dict[str, Any]]:
        tokens = final.trainer.update_tokens
        if plan.keys.get("max_token_len_per_gpu") and plan.framework == "verl" and trainer.update_tokens % sequence:
            return [_edit(final, "max_token_len_per_gpu", tokens)]
        samples = max(1, tokens // sequence)
        names = ["micro_batch_per_gpu"]
        if final.trainer.logprob_tokens < trainer.logprob_tokens and plan.framework != "trl":
            names.append("logprob_micro_batch_per_gpu")
        return [_edit(final, name, samples) for name in names]

    return Change(
        "micro-batch",
        1,
        lambda start: at(least, start),
        edits,
        lambda final: f"micro-batches of {final.trainer.update_tokens:,} tokens",
        relax,
    )


def _share(plan: Plan) -> Change:
    """The engine's share of the card: what its weights and one sequence need at least, more where there is room."""

    least = least_share(plan)

    def apply(start: Plan) -> Plan:
        usable = start.rollout.engine in ("vllm", "sglang", "shared") and least <= 0.95
        return with_share(start, least) if usable else start

    def relax(start: Plan) -> Iterator[Plan]:
        steps = round((0.95 - least) / 0.05)
        yield from (with_share(start, round(least + 0.05 * step, 2)) for step in range(steps, 0, -1))

    return Change(
        "share",
        1,
        apply,
        lambda final: [_edit(final, "gpu_memory_utilization", final.rollout.utilization)],
        lambda final: f"a rollout share of {final.rollout.utilization:g}",
        relax,
    )


def with_share(plan: Plan, share: float) -> Plan:
    """The plan with another engine share of the card."""
    return replace(plan, rollout=replace(plan.rollout, utilization=share))


def least_share(plan: Plan) -> float:
    """The smallest engine share, in steps of 0.05, with room for one sequence and a tenth more; above 1: impossible."""
    need = 1.1 * plan.rollout.sequence * terms.kv_bytes_per_token(plan) + terms.engine_working(plan)
    need += 0 if plan.rollout.engine == "shared" else terms.engine_weights(plan).size
    steps = need / GIB / plan.card.visible_gib / 0.05
    return round((int(steps) + 1) * 0.05, 2)


def _sleep(plan: Plan, key: str) -> Change:
    level = 1 if plan.trainer.lora_rank and plan.framework != "trl" else 2
    text = "a rollout engine that sleeps while the trainer works"

    def apply(start: Plan) -> Plan:
        keeps = level == 1 and start.rollout.engine == "sglang"
        return replace(start, rollout=replace(start.rollout, sleep_level=level, keeps_weights=keeps))

    return Change("sleep", 1, apply, lambda final: [_edit(final, key, True)], lambda final: text)


def _layered(plan: Plan) -> Change:
    """verl: adapters read layer by layer, for which the engine must have loaded real weights."""
    change = _switch(plan, "adapters read layer by layer", 1, "layered_summon", True, summons_model=False)
    rows = (("layered_summon", True), ("load_format", "safetensors"))
    return replace(change, edits=lambda final: [_edit(final, name, value) for name, value in rows])


def _offloads(plan: Plan) -> list[Change]:
    trainer, found = plan.trainer, []
    if plan.framework in ("verl", "rllm", "easyr1") and not trainer.weights_on_host:
        if not trainer.weights_leave:
            found.append(
                _switch(
                    plan, "trainer weights on the host during the rollout", 2, "offload_param", True, weights_leave=True
                )
            )
        if not trainer.states_leave:
            text = "optimizer states on the host outside the update"
            found.append(_switch(plan, text, 2, "offload_optimizer", True, states_leave=True))
        if trainer.fsdp:
            text = "FSDP2's CPU offload policy: weights gathered layer by layer, optimizer on the host (slow)"
            parts = {"weights_on_host": True, "states_on_host": True}
            policy = _switch(plan, text, 4, "offload_policy", True, **parts)
            strategy = {"key": plan.keys.get("sharding_backend", "strategy"), "value": "fsdp2"}
            found.append(replace(policy, edits=lambda final: [strategy, _edit(final, "offload_policy", True)]))
    elif trainer.bucket_elements and not trainer.states_on_host:  # DeepSpeed's stages 1 and 2
        found.append(_switch(plan, "optimizer on the host", 3, "offload_optimizer", "cpu", states_on_host=True))
    return found


def _half(plan: Plan) -> Change:
    """16-bit weights: harmless under a frozen base, lossy where small updates go straight into them."""
    full = not plan.trainer.lora_rank
    text = "trainer weights in bfloat16" + (" (small updates are lost in full training)" if full else "")
    own = plan.trainer

    def apply(start: Plan) -> Plan:
        trainer = replace(start.trainer, weight_bytes=2.0, autocast_bytes=0, reference_bytes=2.0)
        if full or own.fsdp:
            trainer = replace(trainer, adapter_bytes=2.0, gradient_bytes=2.0, moment_bytes=4.0)
            trainer = replace(trainer, step_buffer_bytes=min(own.step_buffer_bytes, 2.0))
        return replace(start, trainer=trainer)

    edits = lambda final: [_edit(final, "model_dtype", "bfloat16")]  # noqa: E731
    return Change("half", 4 if full else 1, apply, edits, lambda final: text)


def _lora(plan: Plan) -> Change:
    """A frozen base with adapters of rank 32 on all linear layers."""
    own = plan.trainer
    width = own.weight_bytes if own.fsdp else 4.0

    def apply(start: Plan) -> Plan:
        trainer = replace(
            start.trainer,
            lora_rank=32,
            adapter_bytes=min(width, start.trainer.weight_bytes) if own.fsdp else width,
            gradient_bytes=width,
            moment_bytes=2 * width,
            master_bytes=0,
            autocast_bytes=0,
            reference="adapter off" if own.reference == "copy" else own.reference,
        )
        return replace(start, trainer=trainer)

    def edits(final: Plan) -> list[dict[str, Any]]:
        if plan.framework == "trl":
            prefix = plan.keys.get("lora_rank", "").removesuffix("use_peft").removesuffix("lora_r")
            return [{"key": f"{prefix}use_peft", "value": True}, {"key": f"{prefix}lora_r", "value": 32}]
        if plan.framework != "verl" or not own.fsdp:
            return [_edit(final, "lora_rank", 32)]
        # verl's FSDP engine reads the flat key; layer by layer, so that no rank has to hold the whole model
        rows = (("lora_rank_flat", 32), ("layered_summon", True), ("load_format", "safetensors"))
        return [_edit(final, name, value) for name, value in rows]

    return Change("lora", 6, apply, edits, lambda final: "LoRA of rank 32 in place of full training")


def merged(final: Plan, step: Plan, change: Change) -> Plan:
    """`final` with the part that `change` varies taken from `step`."""
    if change.name == "share":
        return replace(final, rollout=replace(final.rollout, utilization=step.rollout.utilization))
    names = ("update_tokens", "update_logits", "logprob_tokens", "logprob_logits")
    return replace(final, trainer=replace(final.trainer, **{name: getattr(step.trainer, name) for name in names}))
