"""A run as the readers hand it over → a plan: what each framework makes of its settings, its defaults included."""

from __future__ import annotations

from collections.abc import Callable

from ..configs.run_config import RunConfig
from ..configs.values import InputError
from .cards import Card
from .hf import openrlhf, other, trl
from .plan import Plan, Rollout, Trainer
from .reader import Reader, lengths
from .shapes import Shape
from .verl import verl


def plan_of(run: RunConfig, shape: Shape, card: Card) -> Plan:
    """The plan of a run. Raises InputError for sizes that no run can have."""
    reader = Reader(run)
    lengths(reader)
    build = _FRAMEWORKS.get(run.framework, other)
    trainer, rollout = build(reader, shape)
    _check(reader, trainer, rollout, shape)
    keys = {name: run.key_of(name) for name in _KEYS}
    return Plan(shape, card, run.framework, trainer, rollout, keys, tuple(dict.fromkeys(reader.assumed)))


_KEYS = (
    "model_dtype", "offload_param", "offload_optimizer", "offload_policy", "gradient_checkpointing", "lora_rank",
    "micro_batch_per_gpu", "logprob_micro_batch_per_gpu", "max_token_len_per_gpu", "logprob_max_token_len_per_gpu",
    "use_dynamic_bsz", "use_fused_kernels", "use_liger_loss", "gpu_memory_utilization", "free_cache_engine",
    "sleep_mode", "kl_coef", "use_kl_loss", "n_gpus", "rollout_tensor_parallel", "max_response_length", "zero_stage",
    "sharding_backend", "layered_summon",
    "load_format", "lora_rank_flat",
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


_FRAMEWORKS: dict[str, Callable[[Reader, Shape], tuple[Trainer, Rollout]]] = {
    "verl": verl,
    "rllm": verl,
    "easyr1": verl,
    "trl": trl,
    "openrlhf": openrlhf,
}
