"""Every term of the estimate: bytes, the formula with its numbers, where the formula comes from, how far it may be off.

Names of sizes: P parameters, T tokens in a micro-batch, V vocabulary, L layers, h width.
"""

from __future__ import annotations

from dataclasses import dataclass

from .plan import Plan

GIB = 1024**3
NF4_BYTES = 0.5 + 4 / 64  # half a byte and one fp32 scale per block of 64
CONTEXT_GIB = 0.5
GRAPHS_GIB = 0.5

ZERO = "https://arxiv.org/abs/1910.02054"
KORTHIKANTI = "https://arxiv.org/abs/2205.05198"
PAGED = "https://arxiv.org/abs/2309.06180"
QLORA = "https://arxiv.org/abs/2305.14314"
SLEEP = "https://docs.vllm.ai/en/latest/features/sleep_mode/"
UNSLOTH = "https://unsloth.ai/blog/grpo"
VERL_FSDP = "https://github.com/verl-project/verl/blob/v0.9.0/verl/trainer/config/engine/fsdp.yaml#L33"
VERL_SYNC = "https://github.com/verl-project/verl/blob/v0.9.0/verl/workers/engine_workers.py#L760"
VERL_SUMMON = "https://github.com/verl-project/verl/issues/2450"
DEEPSPEED = "https://deepspeed.readthedocs.io/en/latest/memory.html"
FSDP = "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html"
POOL = "https://github.com/verl-project/verl/blob/v0.9.0/docs/perf/perf_tuning.rst"
ADAM = "https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html"
ASSUMED = "assumption"


@dataclass(frozen=True, slots=True)
class Term:
    """`error` is relative: 0.3 says that the true figure lies within 30 % in most runs."""

    name: str
    size: float  # bytes
    formula: str
    source: str
    error: float

    @property
    def gib(self) -> float:
        return self.size / GIB


def _billions(parameters: float) -> str:
    return f"{parameters / 1e9:.3f}e9" if parameters >= 1e8 else f"{parameters / 1e6:.2f}e6"


def _over(shards: float) -> str:
    return f" / {shards:g}" if shards > 1 else ""


def trainer_weights(plan: Plan) -> Term:
    """The trainer's copy of the model in the dtype in which the framework keeps it."""
    trainer, local = plan.trainer, plan.local_parameters
    if trainer.four_bit:
        quantised = plan.shape.linear_parameters() / plan.shape.parameters() * local
        rest = (local - quantised) * trainer.rest_bytes
        size = quantised * NF4_BYTES + rest
        formula = (
            f"{_billions(quantised)} x {NF4_BYTES:.4g} B + {_billions(local - quantised)} x {trainer.rest_bytes:g} B"
        )
        return Term("trainer weights (4 bit)", size / trainer.weight_shards, formula, QLORA, 0.05)
    size = local * trainer.weight_bytes / trainer.weight_shards
    formula = f"P = {_billions(local)} x {trainer.weight_bytes:g} B{_over(trainer.weight_shards)}"
    return Term("trainer weights", size, formula, VERL_FSDP if plan.framework == "verl" else ZERO, 0.01)


def adapters(plan: Plan) -> Term | None:
    trainer, count = plan.trainer, plan.adapter_parameters
    if not count:
        return None
    formula = f"r = {trainer.lora_rank}: {_billions(count)} x {trainer.adapter_bytes:g} B{_over(trainer.weight_shards)}"
    size = count * trainer.adapter_bytes / trainer.weight_shards
    return Term("LoRA adapters", size, formula, "https://arxiv.org/abs/2106.09685", 0.05)


def gathered_layer(plan: Plan) -> Term | None:
    """FSDP and ZeRO-3 put two layers together at a time, in 16 bit, and embedding and output for the whole pass."""
    trainer, shape = plan.trainer, plan.shape
    apart = trainer.weight_shards > 1 or trainer.weights_on_host or (trainer.fsdp and trainer.weight_bytes > 2)
    if not apart or trainer.four_bit:
        return None
    count = (2 * shape.layer_parameters() + shape.embedding_parameters()) / trainer.tensor_parallel
    return Term("gathered layers", count * 2, f"(2 layers + embeddings = {_billions(count)}) x 2 B", FSDP, 0.3)


def summoned_model(plan: Plan) -> Term | None:
    """Without layered_summon FSDP1 puts the whole model together on every rank to read the adapter out of it."""
    trainer = plan.trainer
    if not trainer.summons_model or trainer.weight_shards < 2:
        return None
    size = plan.local_parameters * trainer.weight_bytes
    formula = f"P = {_billions(plan.local_parameters)} x {trainer.weight_bytes:g} B"
    return Term("model summoned for the adapter", size, formula, VERL_SUMMON, 0.1)


def autocast_copies(plan: Plan) -> Term | None:
    trainer = plan.trainer
    if not trainer.autocast_bytes or trainer.lora_rank:
        return None
    size = plan.local_parameters * trainer.autocast_bytes
    return Term("autocast's 16-bit copies", size, f"{_billions(plan.local_parameters)} x 2 B", ASSUMED, 0.2)


def gradients(plan: Plan) -> Term:
    trainer, count = plan.trainer, plan.trained_parameters
    size = count * trainer.gradient_bytes / trainer.gradient_shards
    formula = f"{_billions(count)} x {trainer.gradient_bytes:g} B{_over(trainer.gradient_shards)}"
    if trainer.weights_on_host and trainer.fsdp and not trainer.lora_rank:
        layers = 2 * plan.shape.layer_parameters() + plan.shape.embedding_parameters()
        formula = f"(2 layers + embeddings = {_billions(layers)}) x {trainer.gradient_bytes:g} B, then to the host"
        return Term("gradients", layers * trainer.gradient_bytes, formula, FSDP, 0.5)
    if trainer.states_on_host and trainer.bucket_elements:  # handed to the host bucket by bucket
        return Term("gradients", 0, "handed to the host through the reduction buckets", DEEPSPEED, 0.0)
    return Term("gradients", size, formula, ZERO, 0.05)


def buckets(plan: Plan) -> Term | None:
    trainer = plan.trainer
    elements = min(trainer.bucket_elements, plan.trained_parameters)
    if elements < 1:
        return None
    return Term("reduction buckets", elements * 4, f"2 x {elements:.3g} elements x 2 B", DEEPSPEED, 0.5)


def optimizer_states(plan: Plan) -> Term:
    trainer, count = plan.trainer, plan.trained_parameters
    each = trainer.moment_bytes + trainer.master_bytes
    master = f" + {trainer.master_bytes:g} master" if trainer.master_bytes else ""
    formula = f"{_billions(count)} x ({trainer.moment_bytes:g} moments{master}) B{_over(trainer.state_shards)}"
    return Term("optimizer states", count * each / trainer.state_shards, formula, ZERO, 0.05)


def step_buffer(plan: Plan) -> Term:
    trainer = plan.trainer
    size = plan.trained_parameters * trainer.step_buffer_bytes / trainer.state_shards
    formula = f"{_billions(plan.trained_parameters)} x {trainer.step_buffer_bytes:g} B{_over(trainer.state_shards)}"
    return Term("buffers of the optimizer step", size, formula, ADAM, 0.3)


def activations(plan: Plan) -> Term:
    """Of the update: with checkpointing every layer's input, without it all that every layer keeps."""
    trainer, shape = plan.trainer, plan.shape
    tokens = trainer.update_tokens / trainer.sequence_parallel
    layers = shape.layers / trainer.pipeline_parallel
    if trainer.checkpointing:
        size = tokens * trainer.input_bytes * layers * shape.hidden
        formula = f"T = {tokens:,.0f} x {layers:g} layers x h = {shape.hidden} x {trainer.input_bytes:g} B"
    else:
        per_layer = shape.layer_activation_bytes() / trainer.tensor_parallel
        size = tokens * layers * per_layer
        formula = f"T = {tokens:,.0f} x {layers:g} layers x {per_layer:,.0f} B"
    return Term("activations", size, formula, KORTHIKANTI, 0.25)


def recomputed_layer(plan: Plan) -> Term:
    """With checkpointing one layer at a time is computed again, and its gradients beside it."""
    trainer, shape = plan.trainer, plan.shape
    tokens = trainer.update_tokens / trainer.sequence_parallel
    per_layer = 1.5 * shape.layer_activation_bytes() / trainer.tensor_parallel
    if not trainer.checkpointing:
        return Term("one layer, recomputed", 0, "no checkpointing", KORTHIKANTI, 0)
    return Term(
        "one layer, recomputed", tokens * per_layer, f"T = {tokens:,.0f} x {per_layer:,.0f} B", KORTHIKANTI, 0.4
    )


def activations_no_grad(plan: Plan) -> Term:
    trainer, shape = plan.trainer, plan.shape
    tokens = trainer.logprob_tokens / trainer.sequence_parallel
    per_layer = shape.layer_activation_bytes() / trainer.tensor_parallel
    formula = f"T = {tokens:,.0f} x one layer's {per_layer:,.0f} B"
    return Term("activations, one layer", tokens * per_layer, formula, KORTHIKANTI, 0.4)


def logits(plan: Plan, gradient: bool) -> Term:
    """The term that is forgotten: one row of V numbers for every token of the micro-batch."""
    trainer = plan.trainer
    tokens = (trainer.update_logits if gradient else trainer.logprob_logits) / trainer.sequence_parallel
    each = trainer.logit_bytes if gradient else trainer.logit_bytes_no_grad
    if trainer.fused_logits:
        rows = min(tokens, 1024)
        size = rows * plan.shape.vocab * each
        return Term("logits (fused, by chunks)", size, f"{rows:,.0f} rows x V x {each:g} B", UNSLOTH, 0.5)
    vocab = plan.shape.vocab / trainer.tensor_parallel
    formula = f"T = {tokens:,.0f} x V = {vocab:,.0f} x {each:g} B"
    return Term("logits", tokens * vocab * each, formula, UNSLOTH, 0.4)


def reference(plan: Plan) -> Term | None:
    trainer = plan.trainer
    if trainer.reference != "copy":
        return None
    size = plan.local_parameters * trainer.reference_bytes / trainer.reference_shards
    formula = f"{_billions(plan.local_parameters)} x {trainer.reference_bytes:g} B{_over(trainer.reference_shards)}"
    return Term("reference model", size, formula, ZERO, 0.02)


def critic(plan: Plan, training: bool) -> Term | None:
    """A value model of the policy's size with gradients and optimizer states of its own."""
    trainer = plan.trainer
    if not trainer.critic:
        return None
    count = plan.local_parameters
    size = count * trainer.weight_bytes / trainer.weight_shards
    if not trainer.states_on_host:
        size += count * (trainer.moment_bytes + trainer.master_bytes) / trainer.state_shards
    if training:
        size += count * trainer.gradient_bytes / trainer.gradient_shards
    return Term("critic", size, f"{_billions(count)}: weights, states{' and gradients' if training else ''}", ZERO, 0.1)


def engine_weights(plan: Plan) -> Term:
    """The rollout engine's own copy: a second one, whatever the trainer holds."""
    rollout, count = plan.rollout, plan.shape.parameters()
    size = count * rollout.weight_bytes / rollout.tensor_parallel
    formula = f"P = {_billions(count)} x {rollout.weight_bytes:g} B{_over(rollout.tensor_parallel)}"
    return Term("rollout engine's weights", size, formula, VERL_SYNC, 0.02)


def engine_pool(plan: Plan) -> Term:
    """Weights, working memory and KV cache of an engine: a share of the card, taken whether it is needed or not."""
    rollout, card = plan.rollout, plan.card
    size = rollout.utilization * card.visible_gib * GIB
    formula = f"{rollout.utilization:g} x {card.visible_gib:.1f} GiB"
    return Term("rollout engine's share", size, formula, POOL, 0.02)


def engine_extra(plan: Plan) -> Term | None:
    """SGLang's share covers weights and cache only; what a step needs comes on top."""
    if plan.rollout.engine != "sglang":
        return None
    return Term(
        "rollout engine's working memory", engine_working(plan), "one step's activations and logits", ASSUMED, 0.5
    )


def engine_working(plan: Plan) -> float:
    """Bytes that an engine needs beside weights and cache: the profiled peak of one step, part of vLLM's share."""
    shape, rollout = plan.shape, plan.rollout
    rows = min(rollout.batched_sequences, rollout.batched_tokens)
    layer = rollout.batched_tokens * (4 * shape.hidden + 4 * shape.intermediate) / rollout.tensor_parallel
    return layer + rows * shape.vocab * 6 / rollout.tensor_parallel + 0.2 * GIB


def kv_pool(plan: Plan) -> float:
    """Bytes that are left for keys and values in the pool; negative when the weights alone do not fit in it."""
    weights = 0.0 if plan.rollout.engine == "shared" else engine_weights(plan).size
    return engine_pool(plan).size - weights - (0 if plan.rollout.engine == "sglang" else engine_working(plan))


def kv_bytes_per_token(plan: Plan) -> float:
    """On one GPU: key heads are divided among tensor-parallel ranks as far as they go."""
    ranks = 1 if plan.shape.mla else min(plan.rollout.tensor_parallel, plan.shape.kv_heads)
    return plan.shape.kv_bytes_per_token() / ranks


def generation_cache(plan: Plan) -> Term:
    """Without an engine the trainer's model generates: keys and values of the whole batch."""
    tokens = plan.rollout.sequences * plan.rollout.sequence
    each = plan.shape.kv_bytes_per_token()
    return Term("KV cache", tokens * each, f"{tokens:,} tokens x {each:,} B", PAGED, 0.1)


def graphs(plan: Plan) -> Term | None:
    """Captured CUDA graphs stay on the GPU while an engine sleeps."""
    if plan.rollout.eager:
        return None
    return Term("CUDA graphs", GRAPHS_GIB * GIB, "0.1 to 1 GiB; 0 with enforce_eager", ASSUMED, 1.0)


def contexts(plan: Plan, processes: int) -> Term:
    formula = f"{processes} x {CONTEXT_GIB} GiB: context, libraries, NCCL"
    return Term("CUDA contexts", processes * CONTEXT_GIB * GIB, formula, ASSUMED, 0.5)


def fragmentation(of: float) -> Term:
    return Term("fragmentation", 0.05 * of, "5 % of what the trainer allocates", ASSUMED, 1.0)
