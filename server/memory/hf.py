"""TRL, OpenRLHF and back ends alone: the HF Trainer's or DeepSpeed's way of keeping a model."""

from __future__ import annotations

from typing import Any

from ..configs.adapters.common import dtype
from ..configs.values import InputError
from .plan import Rollout, Trainer
from .reader import Reader, adapter_of, engine_name, engine_share, longest_sequence, make_rollout
from .shapes import Shape


def trl(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    run = reader.run
    rank, targets = adapter_of(reader)
    world = reader.size("world_size", 1, "not known; one GPU")
    micro = reader.size("micro_batch_per_gpu", 8)
    tokens, answers = micro * longest_sequence(reader), micro * reader.size("max_response_length")
    trainer = _hf_trainer(
        reader,
        world,
        lora_rank=rank,
        lora_targets=targets,
        checkpointing=run.value("gradient_checkpointing") is not False,
        fused_logits=reader.flag("use_liger_loss"),
        reference=("adapter off" if rank else "copy") if reader.flag("ref_policy") else "none",
        update_tokens=tokens,
        update_logits=answers,
        logprob_tokens=tokens,
        logprob_logits=answers,
    )
    engine = engine_name(reader)
    generated = reader.size("steps_per_generation", reader.size("gradient_accumulation", 1)) * micro
    level = run.value("sleep_level")
    rollout = make_rollout(
        reader,
        engine,
        elsewhere=engine == "vllm" and run.value("colocate") is False,
        own_process=False,
        utilization=engine_share(reader, 0.3),
        weight_bytes=2.0,
        sleep_level=(level if level in (1, 2) else 2) if reader.flag("sleep_mode") else 0,
        sequences=generated,
    )
    return trainer, rollout


def _hf_trainer(reader: Reader, world: int, **chosen: Any) -> Trainer:
    """The HF Trainer alone, with DeepSpeed, or with FSDP; PEFT keeps adapters of a 16-bit base in fp32."""
    run = reader.run
    # Logits leave autocast as fp32; log-sum-exp and gather each give back a gradient of that size
    chosen = {"logit_bytes": 14, **chosen}
    four_bit = str(run.value("quantization")) in ("int4", "nf4", "4bit")
    width = 2.0 if four_bit else reader.width("model_dtype", "float32")
    if run.value("model_dtype") is None and not four_bit:
        reader.assumed.append("model_dtype = float32: what the trainer loads when nothing is set")
    if run.value("zero_stage") is not None:
        return _deepspeed(reader, world, four_bit=four_bit, **{**chosen, "adapter_bytes": 4.0 if four_bit else 2.0})
    shards = world if run.value("sharding_backend") in ("fsdp", "fsdp2") or run.value("fsdp_version") else 1
    own = 4.0 if chosen.get("lora_rank") and not four_bit else width
    on_host = reader.flag("fsdp_cpu_offload")
    return Trainer(
        world=world,
        weight_shards=shards,
        gradient_shards=shards,
        state_shards=shards,
        weight_bytes=width,
        four_bit=four_bit,
        adapter_bytes=own,
        gradient_bytes=own,
        moment_bytes=2 * own,
        master_bytes=0,
        autocast_bytes=2.0 if width > 2 and shards == 1 and run.value("bf16") is not False else 0,
        fsdp=shards > 1,
        weights_on_host=on_host,
        states_on_host=on_host,
        reference_bytes=width,
        reference_shards=shards,
        **chosen,
    )


def _deepspeed(reader: Reader, world: int, **chosen: Any) -> Trainer:
    """ZeRO: 16-bit weights and gradients, fp32 master copy and moments; the stage says which of them are divided."""
    run = reader.run
    stage = run.value("zero_stage", 0)
    if stage not in (0, 1, 2, 3):
        raise InputError(f"{run.key_of('zero_stage')} is {str(stage)[:20]}: ZeRO has the stages 0 to 3")
    tensor = 1 if run.value("tensor_parallel") == 0 else reader.size("tensor_parallel", 1)  # 0: AutoTP is off
    ranks = max(1, world // tensor)
    on_host = reader.flag("offload_optimizer") and stage >= 1
    bucket = reader.size("reduce_bucket_size", 500_000_000) if stage in (1, 2) and (ranks > 1 or on_host) else 0
    return Trainer(
        **{
            "world": world,
            "tensor_parallel": tensor,
            "weight_shards": ranks if stage == 3 else 1,
            "gradient_shards": ranks if stage >= 2 else 1,
            "state_shards": ranks if stage >= 1 else 1,
            "weight_bytes": 2.0,
            "gradient_bytes": 4.0 if dtype(run.value("grad_accum_dtype")) == "float32" else 2.0,
            "states_on_host": on_host,
            "weights_on_host": reader.flag("offload_param") and stage == 3,
            "bucket_elements": bucket,
            "reference_shards": ranks if stage == 3 else 1,
            **chosen,
        }
    )


def openrlhf(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    run = reader.run
    rank, targets = adapter_of(reader)
    world = reader.size("world_size", 1, "not known; one GPU") if run.value("world_size") else _product(reader)
    sequence = longest_sequence(reader)
    update = reader.size("micro_batch_per_gpu", 1) * sequence
    logprob = reader.size("logprob_micro_batch_per_gpu", 1) * sequence
    if run.value("use_dynamic_bsz") is True:
        update = max(update, reader.size("max_token_len_per_gpu", update))
        logprob = max(logprob, reader.size("logprob_max_token_len_per_gpu", logprob))
    together = reader.flag("colocate")
    coefficient = run.value("kl_coef")
    trainer = _deepspeed(
        reader,
        world,
        lora_rank=rank,
        lora_targets=targets,
        checkpointing=run.value("gradient_checkpointing") is True,
        critic=run.value("use_critic") is True and together,
        reference="copy"
        if coefficient not in (0, 0.0, None) and (together or reader.flag("colocate_actor_ref"))
        else "none",
        states_leave=reader.flag("sleep_mode") and "--ds.enable_sleep" in " ".join(run.native),
        update_tokens=update,
        update_logits=update,
        logprob_tokens=logprob,
        logprob_logits=logprob,
    )
    rollout = make_rollout(
        reader,
        "vllm",
        elsewhere=not together,
        utilization=engine_share(reader, 0.95),
        sleep_level=1 if reader.flag("sleep_mode") else 0,
        sequences=max(1, reader.size("rollout_batch_prompts", 1) * reader.size("group_size", 1)),
    )
    return trainer, rollout


def _product(reader: Reader) -> int:
    return reader.size("nnodes", 1) * reader.size("n_gpus", 1, "not set")


def other(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    """No adapter, or a back end's config alone: the general settings, with the HF Trainer's way of keeping weights."""
    reader.assumed.append("framework unknown: general settings, with the HF Trainer's way of keeping weights")
    if reader.run.value("model_dtype") is None:
        reader.run.derive("model_dtype", "bfloat16", "assumed")
        reader.assumed.append("model_dtype = bfloat16")
    return trl(reader, shape)
