"""A run as the readers hand it over → a plan: what each framework makes of its settings, its defaults included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..configs.adapters.common import dtype, whole
from ..configs.run_config import RunConfig
from ..configs.values import InputError
from .cards import Card
from .plan import Plan, Rollout, Trainer
from .shapes import Shape

_WIDTHS = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}
_PROMPT, _RESPONSE = 512, 1024  # where neither the config nor the framework states a length
_LARGEST = 10**11


@dataclass(slots=True)
class Reader:
    """Reads canonical fields and remembers what it had to assume."""

    run: RunConfig
    assumed: list[str] = field(default_factory=list)

    def text(self, name: str, otherwise: str = "") -> str:
        value = self.run.value(name)
        return value if isinstance(value, str) else otherwise

    def flag(self, name: str) -> bool:
        value = self.run.value(name)
        return value is True or (isinstance(value, str) and value.lower() in ("cpu", "nvme", "true"))

    def size(self, name: str, otherwise: int | None = None, why: str = "") -> int:
        """A count of at least 1. `otherwise` is used, and told with `why`, when the run does not say."""
        value = self.run.value(name)
        if value is None or isinstance(value, bool) or value == "auto":
            if otherwise is None:
                raise InputError(f"{self.run.key_of(name)} is not known: state it with --set {name}=N")
            if why:
                self.assumed.append(f"{name} = {otherwise}: {why}")
            return otherwise
        number = whole(value)
        if number is None or not 1 <= number <= _LARGEST:
            raise InputError(f"{self.run.key_of(name)} is {str(value)[:40]}: must be a whole number of at least 1")
        return number

    def width(self, name: str, otherwise: str) -> float:
        """Bytes of a dtype."""
        value = dtype(self.run.value(name))
        if value not in _WIDTHS:
            if value not in (None, "auto"):
                raise InputError(f"{self.run.key_of(name)} is {str(value)[:40]}: no dtype of weights")
            value = otherwise
        return _WIDTHS[str(value)]


def plan_of(run: RunConfig, shape: Shape, card: Card) -> Plan:
    """The plan of a run. Raises InputError for sizes that no run can have."""
    reader = Reader(run)
    _lengths(reader)
    build = _FRAMEWORKS.get(run.framework, _other)
    trainer, rollout = build(reader, shape)
    _check(reader, trainer, rollout, shape)
    keys = {name: run.key_of(name) for name in _KEYS}
    return Plan(shape, card, run.framework, trainer, rollout, keys, tuple(dict.fromkeys(reader.assumed)))


_KEYS = (
    "model_dtype", "offload_param", "offload_optimizer", "offload_policy", "gradient_checkpointing", "lora_rank",
    "micro_batch_per_gpu", "logprob_micro_batch_per_gpu", "max_token_len_per_gpu", "logprob_max_token_len_per_gpu",
    "use_dynamic_bsz", "use_fused_kernels", "use_liger_loss", "gpu_memory_utilization", "free_cache_engine",
    "sleep_mode", "kl_coef", "use_kl_loss", "n_gpus", "rollout_tensor_parallel", "max_response_length", "zero_stage",
    "sharding_backend",
)  # fmt: skip


def _check(reader: Reader, trainer: Trainer, rollout: Rollout, shape: Shape) -> None:
    run = reader.run
    if trainer.lora_rank > shape.hidden:
        raise InputError(
            f"{run.key_of('lora_rank')} is {trainer.lora_rank}, above the width {shape.hidden} of {shape.name}: "
            "an adapter of that rank is larger than the matrix it adapts"
        )
    if not 0 < rollout.utilization <= 1:
        raise InputError(f"{run.key_of('gpu_memory_utilization')} is {rollout.utilization:g}: a share of 0 to 1")
    if rollout.tensor_parallel > shape.heads:
        raise InputError(f"{run.key_of('rollout_tensor_parallel')} is above the {shape.heads} heads of {shape.name}")


def _lengths(reader: Reader) -> None:
    """Longest prompt and response, as settings that all frameworks below read."""
    run = reader.run
    total = run.value("max_model_len")
    response = reader.size("max_response_length", _RESPONSE, "not set")
    room = total - response if isinstance(total, int) and not isinstance(total, bool) and total > response else 0
    prompt = reader.size("max_prompt_length", room or _PROMPT, "" if room else "not set")
    run.derive("max_response_length", response, "read for the memory estimate", run.key_of("max_response_length"))
    run.derive("max_prompt_length", prompt, "read for the memory estimate", run.key_of("max_prompt_length"))


def _sequence(reader: Reader) -> int:
    return reader.size("max_prompt_length") + reader.size("max_response_length")


def _adapter(reader: Reader) -> tuple[int, str]:
    value = reader.run.value("lora_rank")
    rank = 0 if value in (None, 0, False) else reader.size("lora_rank")
    targets = reader.run.value("target_modules")
    if isinstance(targets, list):
        targets = ",".join(str(item) for item in targets)
    if not isinstance(targets, str) or "_proj" not in targets:
        targets = "all-linear"
    return rank, targets


def _utilization(reader: Reader, otherwise: float) -> float:
    value = reader.run.value("gpu_memory_utilization")
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{reader.run.key_of('gpu_memory_utilization')} is {str(value)[:40]}: a share of 0 to 1")
    return float(value)


def _rollout(reader: Reader, engine: str, **chosen: Any) -> Rollout:
    """The parts of a rollout that all frameworks read alike."""
    return Rollout(
        engine=engine,
        tensor_parallel=reader.size("rollout_tensor_parallel", 1),
        eager=reader.flag("enforce_eager"),
        sequence=max(_sequence(reader), reader.size("max_model_len", 1)),
        batched_tokens=reader.size("max_num_batched_tokens", 8192),
        batched_sequences=reader.size("max_num_seqs", 256),
        **chosen,
    )


# verl, and what runs on it --------------------------------------------------------------------------------------------


def _verl(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    run = reader.run
    rank, targets = _adapter(reader)
    world = reader.size("world_size", 1, "not known; one GPU")
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
    name = "sglang" if reader.text("rollout_engine", "vllm") == "sglang" else _engine(reader)
    asleep = run.value("free_cache_engine") is not False
    rollout = _rollout(
        reader,
        name,
        elsewhere=reader.text("trainer_mode").startswith("separate"),
        utilization=_utilization(reader, 0.5),
        weight_bytes=reader.width("rollout_dtype", "bfloat16"),
        sleep_level=(1 if adapter else 2) if asleep else 0,
        keeps_weights=asleep and adapter and name == "sglang",
        sequences=_asked(reader, world),
    )
    return trainer, rollout


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
            logit_bytes=8,  # 16-bit logits, their copy divided by the temperature, and both gradients
            **chosen,
        )

    return build


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
    run, sequence = reader.run, _sequence(reader)
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


def _engine(reader: Reader) -> str:
    name = reader.text("rollout_engine", "vllm").lower()
    if name in ("vllm", "sglang", "hf", "none", "shared"):
        return name
    reader.assumed.append(f"rollout engine {name}: taken as vllm")
    return "vllm"


def _asked(reader: Reader, world: int) -> int:
    """Samples that one engine gets in a step."""
    prompts, group = reader.size("train_batch_prompts", 1), reader.size("group_size", 1)
    engines = max(1, world // max(1, reader.size("rollout_tensor_parallel", 1)))
    return max(1, prompts * group // engines)


# TRL ------------------------------------------------------------------------------------------------------------------


def _trl(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    run = reader.run
    rank, targets = _adapter(reader)
    world = reader.size("world_size", 1, "not known; one GPU")
    micro = reader.size("micro_batch_per_gpu", 8)
    tokens, answers = micro * _sequence(reader), micro * reader.size("max_response_length")
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
    engine = _engine(reader)
    generated = reader.size("steps_per_generation", reader.size("gradient_accumulation", 1)) * micro
    level = run.value("sleep_level")
    rollout = _rollout(
        reader,
        engine,
        elsewhere=engine == "vllm" and run.value("colocate") is False,
        own_process=False,
        utilization=_utilization(reader, 0.3),
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


# DeepSpeed and OpenRLHF -----------------------------------------------------------------------------------------------


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


def _openrlhf(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    run = reader.run
    rank, targets = _adapter(reader)
    world = reader.size("world_size", 1, "not known; one GPU") if run.value("world_size") else _product(reader)
    sequence = _sequence(reader)
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
    rollout = _rollout(
        reader,
        "vllm",
        elsewhere=not together,
        utilization=_utilization(reader, 0.95),
        sleep_level=1 if reader.flag("sleep_mode") else 0,
        sequences=max(1, reader.size("rollout_batch_prompts", 1) * reader.size("group_size", 1)),
    )
    return trainer, rollout


def _product(reader: Reader) -> int:
    return reader.size("nnodes", 1) * reader.size("n_gpus", 1, "not set")


def _other(reader: Reader, shape: Shape) -> tuple[Trainer, Rollout]:
    """No adapter, or a back end's config alone: the general settings, with the HF Trainer's way of keeping weights."""
    reader.assumed.append("framework unknown: general settings, with the HF Trainer's way of keeping weights")
    if reader.run.value("model_dtype") is None:
        reader.run.derive("model_dtype", "bfloat16", "assumed")
        reader.assumed.append("model_dtype = bfloat16")
    return _trl(reader, shape)


_FRAMEWORKS: dict[str, Callable[[Reader, Shape], tuple[Trainer, Rollout]]] = {
    "verl": _verl,
    "rllm": _verl,
    "easyr1": _verl,
    "trl": _trl,
    "openrlhf": _openrlhf,
}
