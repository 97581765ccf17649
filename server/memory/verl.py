"""verl, and what runs on it (rLLM, EasyR1): FSDP or Megatron, with an engine that shares the GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .plan import Rollout, Trainer
from .reader import Reader, adapter_of, engine_name, engine_share, longest_sequence, make_rollout, samples_asked
from .shapes import Shape


def verl(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    run = reader.run
    rank, targets = adapter_of(reader)
    world = reader.size("world_size", 1, "not known; one GPU")
    _tell_default_gpus(reader, world)
    engine = reader.text("sharding_backend", "fsdp")
    base = _megatron(reader, world) if engine == "megatron" else _fsdp(reader, world)
    trainer = base(
        lora_rank=rank,
        lora_targets=targets,
        sequence_parallel=reader.size("sequence_parallel", 1),
        checkpointing=run.value("gradient_checkpointing") is not False,
        fused_logits=reader.flag("use_fused_kernels"),
        critic=reader.flag("use_critic"),
        **_token_budgets(reader),
        **_verl_reference(reader, rank, world),
    )
    adapter = bool(rank) and run.value("lora_merge") is not True
    name = "sglang" if reader.text("rollout_engine", "vllm") == "sglang" else engine_name(reader)
    asleep = run.value("free_cache_engine") is not False
    rollout = make_rollout(
        reader,
        name,
        elsewhere=reader.text("trainer_mode").startswith("separate"),
        utilization=engine_share(reader, 0.5),
        weight_bytes=reader.width("rollout_dtype", "bfloat16"),
        sleep_level=(1 if adapter else 2) if asleep else 0,
        keeps_weights=asleep and adapter and name == "sglang",
        sequences=samples_asked(reader, world),
    )
    return trainer, rollout


def _tell_default_gpus(reader: Reader, world: int) -> None:
    setting = reader.run.settings.get("n_gpus")
    stated = reader.run.settings.get("world_size")
    if setting is not None and setting.origin == "default" and (stated is None or stated.origin != "explicit"):
        reader.assumed.append(f"{world} GPUs: the default of {setting.key}")


def _fsdp(reader: Reader, world: int) -> Callable[..., Trainer]:
    """FSDP keeps weights, gradients and both moments in the dtype in which it loads the model; no further copy."""
    run = reader.run
    width = reader.width("model_dtype", "float32")
    if run.settings.get("model_dtype") is None:
        reader.assumed.append("model_dtype = float32: verl's default")
    shards = run.value("fsdp_size")
    size = shards if isinstance(shards, int) and 0 < shards <= world else world
    on_host = reader.flag("offload_policy")

    def build(**chosen: Any) -> Trainer:
        return Trainer(
            world=world,
            weight_shards=size,
            gradient_shards=size,
            state_shards=size,
            weight_bytes=width,
            adapter_bytes=width,
            gradient_bytes=width,
            moment_bytes=2 * width,
            master_bytes=0,
            fsdp=True,
            weights_leave=reader.flag("offload_param"),
            states_leave=reader.flag("offload_optimizer"),
            weights_on_host=on_host,
            states_on_host=on_host,
            step_buffer_bytes=width,
            summons_model=_summons(reader),
            logit_bytes=8,  # 16-bit logits, their copy divided by the temperature, and both gradients
            **chosen,
        )

    return build


def _summons(reader: Reader) -> bool:
    run = reader.run
    sent_alone = bool(run.value("lora_rank")) and run.value("lora_merge") is not True
    return sent_alone and run.value("fsdp_version") == 1 and run.value("layered_summon") is not True


def _megatron(reader: Reader, world: int) -> Callable[..., Trainer]:
    """16-bit weights, fp32 gradients, and the optimizer's 12 bytes spread over the data-parallel ranks."""
    tensor, pipe = reader.size("tensor_parallel", 1), reader.size("pipeline_parallel", 1)
    context = reader.size("context_parallel", 1)
    ranks = max(1, world // (tensor * pipe * context))

    def build(sequence_parallel: int, **chosen: Any) -> Trainer:
        return Trainer(
            world=world,
            tensor_parallel=tensor,
            pipeline_parallel=pipe,
            expert_parallel=reader.size("expert_parallel", 1),
            sequence_parallel=context,
            state_shards=ranks,
            weight_bytes=2,
            adapter_bytes=2,
            gradient_bytes=4,
            weights_leave=reader.flag("offload_param"),
            states_leave=reader.flag("offload_optimizer"),
            **chosen,
        )

    return build


def _token_budgets(reader: Reader) -> dict[str, int]:
    """Tokens of one micro-batch; verl computes logits for all of them."""
    run, sequence = reader.run, longest_sequence(reader)
    if run.value("use_dynamic_bsz") is True:
        update = max(reader.size("max_token_len_per_gpu", 16_384), sequence)
    else:
        update = reader.size("micro_batch_per_gpu", 1, "not set") * sequence
    if run.value("logprob_use_dynamic_bsz", run.value("use_dynamic_bsz")) is True:
        logprob = max(reader.size("logprob_max_token_len_per_gpu", update), sequence)
    else:
        logprob = reader.size("logprob_micro_batch_per_gpu", max(1, update // sequence)) * sequence
    return {
        "update_tokens": update,
        "update_logits": update,
        "logprob_tokens": logprob,
        "logprob_logits": logprob,
    }


def _verl_reference(reader: Reader, rank: int, world: int) -> dict[str, Any]:
    """With an adapter the reference is the policy with the adapter switched off."""
    if not reader.flag("ref_policy"):
        return {"reference": "none"}
    if rank:
        return {"reference": "adapter off"}
    own = reader.run.native.get("actor_rollout_ref.ref.fsdp_config.param_offload")
    leaves = own.value is True if own is not None else reader.flag("offload_param")
    width = reader.width("ref_dtype", "float32")
    return {"reference": "copy", "reference_bytes": width, "reference_shards": world, "reference_leaves": leaves}
