"""What ms-swift refuses when it starts, where arithmetic or several arguments decide."""

from __future__ import annotations

from ..configs.adapters.common import whole
from ..configs.adapters.hf_arguments import visible_devices
from ..configs.run_config import RunConfig
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome, Unknown
from .trl_batch import open_fields

_SOFT_OVERLONG = "soft_overlong"


def one_process_per_gpu(run: RunConfig) -> Outcome:
    """Two or more visible GPUs for a process are taken for device_map, which vLLM does not go with."""
    if run.value("use_vllm") is not True:
        return NOT_APPLICABLE
    single = run.env.get("SWIFT_SINGLE_DEVICE_MODE")
    if single is not None and single.value == "1":
        return NOT_APPLICABLE
    devices, per_node = visible_devices(run), run.env.get("NPROC_PER_NODE")
    if devices is None or len(devices) < 2 or per_node is None or not str(per_node.value).isdecimal():
        return NOT_APPLICABLE  # without NPROC_PER_NODE the environment may still set it
    processes = int(per_node.value)
    if processes < 1 or len(devices) // processes < 2:
        return PASS
    return Hit(
        "world_size",
        f"{len(devices)} GPUs are visible to {processes} processes (NPROC_PER_NODE): ms-swift splits the model over "
        "the GPUs of a process with device_map, and stops at start-up because vLLM does not go with it.",
        f"Set NPROC_PER_NODE={len(devices)}, or leave {processes} GPUs in CUDA_VISIBLE_DEVICES.",
    )


def soft_overlong_has_a_length(run: RunConfig) -> Outcome:
    """The reward `soft_overlong` needs soft_cache_length."""
    functions = run.settings.get("reward_funcs")
    if functions is None or functions.value is None:
        return NOT_APPLICABLE
    if not functions.known:
        return Unknown(frozenset(["reward_funcs"]))
    names = functions.value if isinstance(functions.value, list) else [functions.value]
    if _SOFT_OVERLONG not in names:
        return NOT_APPLICABLE
    length = run.native.get("soft_cache_length")
    if length is not None and length.value is not None:
        return PASS
    return Hit(
        "reward_funcs",
        "{reward_funcs.key} has soft_overlong, but soft_cache_length is not set: ms-swift stops at start-up.",
        "Set soft_cache_length to the tokens over which the penalty grows, for example a quarter of "
        "{max_response_length.key}={max_response_length}.",
    )


def megatron_prompts_divide(run: RunConfig) -> Outcome:
    """Megatron GRPO: the prompts of a generation go to the data-parallel ranks in whole micro-batches."""
    if run.value("sharding_backend") != "megatron" or run.value("adv_estimator") is None:
        return NOT_APPLICABLE
    if missing := open_fields(run, "generation_batch_size", "group_size", "micro_batch_per_gpu"):
        return missing
    size, group = whole(run.value("generation_batch_size")) or 0, whole(run.value("group_size")) or 0
    micro, ranks = whole(run.value("micro_batch_per_gpu")) or 0, whole(run.value("data_parallel_size"))
    if min(size, group, micro) < 1 or size % group:
        return NOT_APPLICABLE  # trl-group-not-dividing-generation-batch speaks
    prompts = size // group
    if ranks is None:
        return Unknown(frozenset([run.key_of("world_size")])) if prompts > 1 else NOT_APPLICABLE
    step = ranks * micro
    if prompts % step == 0:
        return PASS
    better = step * group
    return Hit(
        "generation_batch_size",
        f"{size} samples of a generation / {{group_size.key}}={group} = {prompts} prompts, no multiple of {ranks} "
        f"data-parallel ranks x {{micro_batch_per_gpu.key}}={micro} = {step}; ms-swift stops at start-up.",
        f"Take a multiple of {better} samples for a generation: {{train_batch_samples.key}} x "
        "{steps_per_generation.key}.",
    )
