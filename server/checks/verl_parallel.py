"""verl's parallel sizes: which of them must divide the GPUs."""

from __future__ import annotations

from ..configs.adapters.common import product
from ..configs.run_config import RunConfig
from .divisors import divisor_at_most
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome
from .verl_common import gpus, head_divisor, number, open_question, rollout_has_own_gpus


def rollout_parallel_divides(run: RunConfig) -> Outcome:
    """Tensor x data x pipeline parallel size of a rollout engine must divide the GPUs it shares with the trainer."""
    if rollout_has_own_gpus(run):
        return NotApplicable("the rollout has GPUs of its own")
    if run.value("rollout_engine") == "hf":
        return NotApplicable("rollout by Hugging Face generate has no engines")
    others = [name for name in ("rollout_data_parallel", "rollout_pipeline_parallel") if name in run.settings]
    if missing := open_question(run, "world_size", "rollout_tensor_parallel", *others):
        return missing
    world, tensor = number(run, "world_size"), number(run, "rollout_tensor_parallel")
    size = product(tensor, *(run.value(name) for name in others))
    if not world or not tensor or not size:
        return NOT_APPLICABLE
    if world % size == 0:
        return PASS
    rest = size // tensor
    shown = f"{{rollout_tensor_parallel.key}}={tensor}" + (f" x {rest}" if rest > 1 else "")
    edits = {"rollout_tensor_parallel": head_divisor(world // rest, tensor)} if world % rest == 0 else {}
    fix = f"Set {{rollout_tensor_parallel.key}}={edits['rollout_tensor_parallel']}." if edits else (
        f"Make tensor x data x pipeline parallel size a divisor of {world}."
    )  # fmt: skip
    text = f"{shown} is the size of one rollout engine, which does not divide {gpus(world)}; verl stops at start-up."
    return Hit("rollout_tensor_parallel", text, fix, dict(edits))


def sequence_parallel_divides(run: RunConfig) -> Outcome:
    """Ulysses groups must tile the GPUs."""
    if run.value("sharding_backend") not in ("fsdp", "fsdp2"):
        return NOT_APPLICABLE
    if missing := open_question(run, "world_size", "sequence_parallel"):
        return missing
    world, size = number(run, "world_size"), number(run, "sequence_parallel")
    if not world or not size or size == 1:
        return NOT_APPLICABLE
    if world % size == 0:
        return PASS
    better = head_divisor(world, size)
    return Hit(
        "sequence_parallel",
        f"{{sequence_parallel.key}}={size} does not divide {gpus(world)}; the device mesh cannot be built.",
        f"Set {{sequence_parallel.key}}={better}.",
        {"sequence_parallel": better},
    )


def megatron_parallel_divides(run: RunConfig) -> Outcome:
    """Megatron: tensor x pipeline x context parallel size, and the expert grid, must divide the GPUs."""
    if run.value("sharding_backend") != "megatron":
        return NOT_APPLICABLE
    sizes = ("tensor_parallel", "pipeline_parallel", "context_parallel")
    if missing := open_question(run, "world_size", *sizes):
        return missing
    world, dense = number(run, "world_size"), product(*(run.value(name) for name in sizes))
    if not world or not dense:
        return NOT_APPLICABLE
    if world % dense:
        shown = " x ".join(f"{{{name}.key}}={{{name}}}" for name in sizes)
        text = f"{shown} = {dense} does not divide {gpus(world)}; Megatron cannot build its groups."
        return Hit("tensor_parallel", text, f"Choose sizes whose product divides {world}.")
    return _expert_grid_divides(run, world)


def _expert_grid_divides(run: RunConfig, world: int) -> Outcome:
    if missing := open_question(run, "expert_parallel"):
        return missing
    width = "expert_tensor_parallel" if run.value("expert_tensor_parallel") is not None else "tensor_parallel"
    sizes = (width, "expert_parallel", "pipeline_parallel")
    grid = product(*(run.value(name) for name in sizes))
    if not grid or world % grid == 0:
        return PASS
    shown = " x ".join(f"{{{name}.key}}={{{name}}}" for name in sizes)
    note = ""
    if width == "tensor_parallel":
        note = " (expert_tensor_parallel_size unset takes the tensor parallel size)"
    text = f"{shown} = {grid}{note} does not divide {gpus(world)}; Megatron cannot build its expert groups."
    return Hit("expert_parallel", text, f"Choose an expert grid whose size divides {world}.")


def fsdp_size_divides(run: RunConfig) -> Outcome:
    """Hybrid sharding: groups of `fsdp_size` GPUs must tile the GPUs."""
    if run.value("sharding_backend") not in ("fsdp", "fsdp2"):
        return NOT_APPLICABLE
    if missing := open_question(run, "world_size", "fsdp_size"):
        return missing
    world, size = number(run, "world_size"), number(run, "fsdp_size")
    if not world or size is None or size <= 0 or size >= world:
        return NOT_APPLICABLE  # one group over all GPUs
    if world % size == 0:
        return PASS
    better = divisor_at_most(world, size)
    return Hit(
        "fsdp_size",
        f"{{fsdp_size.key}}={size} does not divide {gpus(world)}; the device mesh cannot be built.",
        f"Set {{fsdp_size.key}}={better}, or -1 to shard over all GPUs.",
        {"fsdp_size": better},
    )
