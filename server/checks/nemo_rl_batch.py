"""NeMo-RL's arithmetic: parallel sizes over GPUs, samples over optimizer batches and ranks; the reference.

`grpo.num_prompts_per_step` counts prompts, `policy.train_global_batch_size` samples.
"""

from __future__ import annotations

from ..configs.adapters.common import product
from ..configs.run_config import RunConfig
from ..store.versions import in_range
from .divisors import divisor_at_most, positive
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome
from .verl_common import next_multiple, open_question


def parallel_sizes_divide(run: RunConfig) -> Outcome:
    """Tensor x pipeline x context parallel size divides the trainer's GPUs."""
    sizes = [name for name in ("tensor_parallel", "pipeline_parallel", "context_parallel") if name in run.settings]
    if not sizes or run.value("sharding_backend") is None:
        return NOT_APPLICABLE
    if missing := open_question(run, "world_size", *sizes):
        return missing
    world, size = positive(run, "world_size"), product(*(run.value(name) for name in sizes))
    if not world or not size or world % size == 0:
        return PASS if world and size else NOT_APPLICABLE
    shown = " x ".join(f"{{{name}.key}}={{{name}}}" for name in sizes)
    return Hit(
        "tensor_parallel",
        f"{shown} = {size} does not divide the trainer's {world} GPUs; NeMo-RL stops at start-up.",
        f"Choose sizes whose product divides {world}, or another number of GPUs.",
    )


def global_batch_divides(run: RunConfig) -> Outcome:
    """Samples of a step are whole optimizer batches, and those are spread evenly over the ranks."""
    if missing := open_question(run, "train_batch_prompts", "group_size", "train_batch_samples"):
        return missing
    samples = product(run.value("train_batch_prompts"), run.value("group_size"))
    batch = positive(run, "train_batch_samples")
    if not samples or not batch:
        return NOT_APPLICABLE
    if samples % batch:
        better = divisor_at_most(samples, batch)
        return Hit(
            "train_batch_samples",
            f"{{train_batch_prompts.key}} x {{group_size.key}} = {samples} samples are no multiple of "
            f"{{train_batch_samples.key}}={batch}; the first training step stops with an assertion.",
            f"Set {{train_batch_samples.key}}={better}.",
            {"train_batch_samples": better},
        )
    if missing := open_question(run, "data_parallel_size"):
        return missing
    ranks = positive(run, "data_parallel_size")
    if not ranks or batch % ranks == 0:
        return PASS
    return Hit(
        "train_batch_samples",
        f"{{train_batch_samples.key}}={batch} is no multiple of the {ranks} data-parallel ranks; the first training "
        "step stops with an assertion.",
        f"Set {{train_batch_samples.key}} to a multiple of {ranks}, such as {next_multiple(batch, ranks)}.",
    )


def micro_batch_divides(run: RunConfig) -> Outcome:
    """Without packing a rank's share of the optimizer batch is cut into whole micro-batches."""
    if missing := open_question(run, "use_remove_padding", "use_dynamic_bsz"):
        return missing
    if run.value("use_remove_padding") or run.value("use_dynamic_bsz"):
        return NOT_APPLICABLE
    if missing := open_question(run, "train_batch_samples", "micro_batch_per_gpu", "data_parallel_size"):
        return missing
    batch, ranks, micro = (
        positive(run, name) for name in ("train_batch_samples", "data_parallel_size", "micro_batch_per_gpu")
    )
    if not batch or not ranks or not micro or batch % ranks:
        return NOT_APPLICABLE
    if batch // ranks % micro == 0:
        return PASS
    better = divisor_at_most(batch // ranks, micro)
    return Hit(
        "micro_batch_per_gpu",
        f"{{train_batch_samples.key}}={batch} over {ranks} ranks leaves {batch // ranks} samples, no multiple of "
        f"{{micro_batch_per_gpu.key}}={micro}; the first training step stops with an assertion.",
        f"Set {{micro_batch_per_gpu.key}}={better}.",
        {"micro_batch_per_gpu": better},
    )


def reference_is_computed(run: RunConfig) -> Outcome:
    """A KL penalty needs the reference's log-probs. 0.6.0 looks at it in synchronous training only, and computes them
    in asynchronous training whatever the switch says."""
    if run.value("skip_ref_log_probs") is not True:
        return open_question(run, "skip_ref_log_probs") or NOT_APPLICABLE
    if not run.value("kl_coef"):
        return open_question(run, "kl_coef") or NOT_APPLICABLE
    version = run.versions.get("nemo-rl")
    old = version is not None and in_range(version, "<0.7.0")
    if old and run.value("async_training") is not False:
        return open_question(run, "async_training") or NOT_APPLICABLE
    return Hit(
        "skip_ref_log_probs",
        "{skip_ref_log_probs.key} is on with {kl_coef.key}={kl_coef}; NeMo-RL stops before the first step.",
        "Set {kl_coef.key}=0, or compute the reference.",
    )
