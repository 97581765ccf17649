"""Arithmetic that Megatron asserts at start-up (megatron/training/arguments.py, validate_args, and the library's
configuration classes): batch, layers, parallel sizes, back ends and what they refuse. Sizes are in samples and ranks.
"""

from __future__ import annotations

from ..configs.adapters.common import product, whole
from ..configs.adapters.megatron_common import bare
from ..configs.run_config import RunConfig
from ..store.versions import in_range
from .divisors import divisor_at_most
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome, Unknown
from .verl_common import next_multiple, number, open_question

_STAGE_FIELDS = ("first_stage_layers", "last_stage_layers", "pipeline_layout", "hybrid_pattern")
_PADDED_STAGES = ("account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split")


def global_batch_divides(run: RunConfig) -> Outcome:
    """The batch of an optimizer step must be whole micro-batches on every data-parallel rank.

    Source: ConstantNumMicroBatchesCalculator in megatron/core/num_microbatches_calculator.py.
    """
    if _given(run, "decrease-batch-size-if-needed"):
        return NotApplicable("the batch is rounded down to whole micro-batches")
    if missing := open_question(run, "train_batch_samples", "micro_batch_per_gpu"):
        return missing
    samples, micro = number(run, "train_batch_samples"), number(run, "micro_batch_per_gpu")
    if not samples or not micro or samples < 0 or micro < 0:
        return NOT_APPLICABLE
    ranks = number(run, "data_parallel_size")
    if samples % micro == 0 and not ranks:
        sizes = ("tensor_parallel", "pipeline_parallel", "context_parallel")
        return open_question(run, "world_size", *sizes) or NotApplicable("the parallel sizes do not fit the GPUs")
    step = micro * (ranks or 1)
    if samples % step == 0:
        return PASS
    shown = f"{{micro_batch_per_gpu.key}}={micro}" + (f" x {ranks} data-parallel ranks" if ranks else "")
    better = next_multiple(samples, step)
    return Hit(
        "train_batch_samples",
        f"{{train_batch_samples.key}}={samples} is not a multiple of {shown}; Megatron stops at start-up.",
        f"Set {{train_batch_samples.key}}={better}.",
        {"train_batch_samples": better},
    )


def _given(run: RunConfig, *flags: str) -> bool:
    return any(bare(key) in flags for key in run.native)


def rollout_fills_global_batches(run: RunConfig) -> Outcome:
    """GRPO loop: prompts x group x iterations must be whole global batches, and a save must fall on a new rollout.

    Source: validate_args, `num_generated_samples_per_inference_iteration`.
    """
    if run.value("rl_training") is not True:
        return NOT_APPLICABLE
    names = ("rollout_batch_prompts", "group_size", "ppo_epochs", "train_batch_samples")
    if missing := open_question(run, *names):
        return missing
    collected = product(*(run.value(name) for name in names[:3]))
    samples = number(run, "train_batch_samples")
    if not collected or not samples or samples < 0:
        return NOT_APPLICABLE
    shown = " x ".join(f"{{{name}.key}}={{{name}}}" for name in names[:3])
    if collected % samples:
        text = f"{shown} = {collected} samples are no multiple of {{train_batch_samples.key}}={samples}; "
        return Hit("train_batch_samples", text + "Megatron stops at start-up.", _whole_batches(collected, samples))
    steps, every = collected // samples, whole(run.value("save_freq"))
    if every and every % steps:
        text = (
            f"{{save_freq.key}}={every} is no multiple of the {steps} optimizer steps on one rollout ({shown} samples "
            f"in batches of {samples}); Megatron stops at start-up."
        )
        better = next_multiple(every, steps)
        return Hit("save_freq", text, f"Set {{save_freq.key}}={better}.", {"save_freq": better})
    return PASS


def _whole_batches(collected: int, samples: int) -> str:
    divisor = divisor_at_most(collected, samples)
    return f"Set {{train_batch_samples.key}}={divisor}, or collect a multiple of {samples} samples."


def layers_divide_over_stages(run: RunConfig) -> Outcome:
    """Layers must divide over the pipeline stages unless the stages are given one by one."""
    if missing := open_question(run, "pipeline_parallel", "n_layers"):
        return missing
    stages, layers = number(run, "pipeline_parallel"), number(run, "n_layers")
    if not stages or stages < 2 or not layers:
        return NOT_APPLICABLE
    if any(run.value(name) is not None for name in _STAGE_FIELDS if name in run.settings):
        return NotApplicable("the stages are given one by one")
    extra = len({bare(key) for key in run.native} & set(_PADDED_STAGES))
    if (layers + extra) % stages == 0:
        return PASS
    counted = f"{{n_layers.key}}={layers}" + (f" and {extra} for embedding or loss" if extra else "")
    return Hit(
        "pipeline_parallel",
        f"{counted} do not divide over {{pipeline_parallel.key}}={stages} stages; Megatron stops at start-up.",
        f"Use a divisor of {layers + extra}, or set the layers of the first and last stage "
        "(--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers).",
    )


def interleaving_has_stages(run: RunConfig) -> Outcome:
    """The interleaved schedule needs two stages, three without overlapped point-to-point communication."""
    names = [name for name in ("layers_per_virtual_stage", "virtual_stages_per_rank") if name in run.settings]
    given = next((name for name in names if run.value(name) is not None), None)
    if given is None:
        return NOT_APPLICABLE
    if missing := open_question(run, "pipeline_parallel", given):
        return missing
    stages = number(run, "pipeline_parallel")
    overlapped = not _given(run, "no-overlap-p2p-communication")
    least = 2 if overlapped else 3
    if not stages or stages >= least:
        return PASS
    if _one_chunk(run, given, stages):
        return NotApplicable("one chunk a rank is no interleaving")
    return Hit(
        given,
        f"{{{given}.key}}={{{given}}} asks for the interleaved schedule, which needs {{pipeline_parallel.key}} of at "
        f"least {least}; it is {stages}, and Megatron stops at start-up.",
        f"Remove {{{given}.key}}, or use {least} pipeline stages or more.",
    )


def _one_chunk(run: RunConfig, name: str, stages: int) -> bool:
    size, layers = number(run, name), number(run, "n_layers")
    if name == "virtual_stages_per_rank":
        return size == 1
    return bool(size and layers and layers // stages == size)


def torch_fsdp2_is_possible(run: RunConfig) -> Outcome:
    """What `--use-torch-fsdp2` refuses."""
    if run.value("use_torch_fsdp2") is not True:
        return NOT_APPLICABLE
    found: list[tuple[str, str]] = []
    for name in ("pipeline_parallel", "expert_parallel"):
        if (number(run, name) or 1) > 1:
            found.append((name, f"{{{name}.key}}={number(run, name)}"))
    for name in ("use_distributed_optimizer", "fp16"):
        if run.value(name) is True:
            found.append((name, f"{{{name}.key}}"))
    if run.value("gradient_accumulation_fusion") is True:
        text = "fused gradient accumulation (on without {gradient_accumulation_fusion.key})"
        found.append(("gradient_accumulation_fusion", text))
    if (stored := run.value("checkpoint_format")) is not None and stored not in ("torch_dist", "torch_dcp"):
        found.append(("checkpoint_format", f"{{checkpoint_format.key}}={stored}"))
    return _refused(run, "use_torch_fsdp2", found, "torch_dist or torch_dcp checkpoints, no fused accumulation")


def megatron_fsdp_is_possible(run: RunConfig) -> Outcome:
    """What `--use-megatron-fsdp` refuses: other checkpoint formats (from 0.14), Muon (from 0.16), any optimizer but
    adam and sgd (from 0.18)."""
    if run.value("use_megatron_fsdp") is not True:
        return NOT_APPLICABLE
    version = run.versions.get("megatron-core")
    found: list[tuple[str, str]] = []
    if (stored := run.value("checkpoint_format")) is not None and stored != "fsdp_dtensor":
        found.append(("checkpoint_format", f"{{checkpoint_format.key}}={stored}"))
    optimizer = run.value("optimizer")
    refused = ">=0.16.0" if optimizer == "muon" else ">=0.18.0"
    if isinstance(optimizer, str) and optimizer not in ("adam", "sgd") and in_range(version or "0.18.0", refused):
        found.append(("optimizer", f"{{optimizer.key}}={optimizer}"))
    return _refused(run, "use_megatron_fsdp", found, "--ckpt-format fsdp_dtensor and --optimizer adam")


def _refused(run: RunConfig, switch: str, found: list[tuple[str, str]], instead: str) -> Outcome:
    env = run.env.get("CUDA_DEVICE_MAX_CONNECTIONS")
    shown = [text for _, text in found]
    if env is not None and env.value == "1":
        shown.append("CUDA_DEVICE_MAX_CONNECTIONS=1")
    if not shown:
        return PASS
    anchor = found[0][0] if found else "env.CUDA_DEVICE_MAX_CONNECTIONS"
    text = f"{{{switch}.key}} goes with none of: {', '.join(shown)}; Megatron stops at start-up."
    return Hit(anchor, text, f"Use {instead}, and leave CUDA_DEVICE_MAX_CONNECTIONS unset.")


def muon_overlap_is_possible(run: RunConfig) -> Outcome:
    """0.16 refuses both overlap options for Muon; 0.17 for plain `muon`, not for `dist_muon`."""
    if run.value("optimizer") != "muon":
        return NOT_APPLICABLE
    version = run.versions.get("megatron-core")
    if version is None:
        return Unknown(frozenset(["megatron_core_version"]))
    if run.value("layerwise_optimizer") is True and in_range(version, ">=0.17.0"):
        return NotApplicable("dist_muon has its own overlap from 0.17 on")
    on = [name for name in ("overlap_grad_reduce", "overlap_param_gather") if run.value(name) is True]
    if not on:
        return PASS
    shown = " and ".join(f"{{{name}.key}}" for name in on)
    instead = " or use --optimizer dist_muon," if in_range(version, ">=0.17.0") else ""
    return Hit(
        on[0],
        f"{{optimizer.key}}={{optimizer}} does not go with {shown} in this release; Megatron stops at start-up.",
        f"Remove {shown},{instead} or upgrade to 0.18.0.",
        dict.fromkeys(on, False),
    )


def length_is_given_once(run: RunConfig) -> Outcome:
    """Iterations and samples both given: one of them must count the run."""
    if _given(run, "skip-train") and in_range(run.versions.get("megatron-core") or "0.17.0", ">=0.17.0"):
        return NotApplicable("nothing is trained")
    both = [name for name in ("train_iters", "train_samples") if number(run, name)]
    if len(both) < 2:
        return PASS if both else NOT_APPLICABLE
    return Hit(
        "train_samples",
        "{train_iters.key} and {train_samples.key} are both set; Megatron takes one of them and stops at start-up.",
        "Keep one of the two.",
    )
