"""SkyRL's assertions at start-up (validate_cfg): batches, placement, Megatron's limits, fully asynchronous training.

`trainer.train_batch_size` and the mini-batch sizes count prompts; ranks get samples.
"""

from __future__ import annotations

from ..configs.adapters.common import product
from ..configs.run_config import RunConfig
from ..store.versions import in_range
from .divisors import divisor_at_most, positive
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome
from .startup import first_clash
from .verl_common import open_question

_STOPS = "SkyRL stops at start-up."


def batches_divide(run: RunConfig) -> Outcome:
    """Training batch, mini-batch and micro-batch, in the order in which SkyRL looks at them."""
    fields = ("train_batch_prompts", "mini_batch_prompts", "micro_batch_per_gpu", "group_size")
    if missing := open_question(run, *fields):
        return missing
    train, mini, micro, group = (positive(run, name) for name in fields)
    if not train or not mini or not micro or not group:
        return NOT_APPLICABLE
    if train % mini:
        better = divisor_at_most(train, mini)
        return Hit(
            "mini_batch_prompts",
            f"{{train_batch_prompts.key}}={train} is no multiple of {{mini_batch_prompts.key}}={mini}; {_STOPS}",
            f"Set {{mini_batch_prompts.key}}={better}.",
            {"mini_batch_prompts": better},
        )
    if missing := open_question(run, "data_parallel_size"):
        return missing
    ranks = positive(run, "data_parallel_size")
    if not ranks:
        return NOT_APPLICABLE
    share = mini * group // ranks
    samples = f"{{mini_batch_prompts.key}} x {{group_size.key}} = {mini * group} samples"
    if not share:
        text = f"{samples} leave none for each of the {ranks} data-parallel ranks; {_STOPS}"
        return Hit("mini_batch_prompts", text, f"Set {{mini_batch_prompts.key}}={-(-ranks // group)} or more.")
    if share % micro:
        better = divisor_at_most(share, micro)
        return Hit(
            "micro_batch_per_gpu",
            f"{samples} over {ranks} data-parallel ranks are {share} each, no multiple of {{micro_batch_per_gpu.key}}="
            f"{micro}; {_STOPS}",
            f"Set {{micro_batch_per_gpu.key}}={better}.",
            {"micro_batch_per_gpu": better},
        )
    if train * group // ranks % share:
        text = (
            f"a rank's share of the training batch, {train * group // ranks}, is no multiple of its share {share} of a "
        )
        return Hit("mini_batch_prompts", f"{text}mini-batch; {_STOPS}", f"Make both divisible by {ranks} ranks.")
    return PASS


def colocated_gpus_match(run: RunConfig) -> Outcome:
    """Colocated engines take exactly the policy's GPUs (no check in skyrl-train 0.1.0)."""
    if (version := run.versions.get("skyrl-train")) is not None and in_range(version, "<0.2.0"):
        return NotApplicable("this version does not compare them")
    if run.value("colocate") is not True:
        return open_question(run, "colocate") or NOT_APPLICABLE
    sizes = ["rollout_engines", "rollout_tensor_parallel", "rollout_data_parallel", "rollout_pipeline_parallel"]
    sizes = [name for name in sizes if name not in run.absent]
    if missing := open_question(run, "world_size", *sizes):
        return missing
    world, engines = positive(run, "world_size"), product(*(run.value(name) for name in sizes))
    if not world or not engines:
        return NOT_APPLICABLE
    if world == engines:
        return PASS
    shown = " x ".join(f"{{{name}.key}}={{{name}}}" for name in sizes)
    one = engines // max(positive(run, "rollout_engines") or 1, 1)
    better = world // one if one and world % one == 0 else None
    return Hit(
        "rollout_engines",
        f"{shown} = {engines} GPUs, but {{colocate.key}} shares the policy's {world}; {_STOPS}",
        f"Set {{rollout_engines.key}}={better}." if better else f"Choose sizes whose product is {world}.",
        {"rollout_engines": better} if better else {},
    )


def megatron_limits(run: RunConfig) -> Outcome:
    """What training with Megatron does not support."""
    if run.value("sharding_backend") != "megatron":
        return NOT_APPLICABLE
    name = "{strategy.key}=megatron"
    version = run.versions.get("skyrl")
    released = version is not None and in_range(version, "<=0.3.0")
    accepted = ("nccl",) if released else ("nccl", "delta")  # the main branch after 0.3.0 takes both
    return first_clash(
        run,
        [
            (
                ("weight_sync_backend",),
                lambda value: value not in accepted,
                "weight_sync_backend",
                f"{name} needs {{weight_sync_backend.key}}=nccl; {_STOPS}",
                "Set {weight_sync_backend.key}=nccl.",
                {"weight_sync_backend": "nccl"},
            ),
            (
                ("rollout_engine",),
                lambda value: value != "vllm",
                "rollout_engine",
                f"{name} needs {{rollout_engine.key}}=vllm; {_STOPS}",
                "Set {rollout_engine.key}=vllm.",
                {"rollout_engine": "vllm"},
            ),
            (
                ("critic_model",),
                lambda value: value is not None,
                "critic_model",
                f"{name} trains no critic, but {{critic_model.key}} is set; {_STOPS}",
                "Take {critic_model.key} out.",
                {"critic_model": None},
            ),
            (
                ("context_parallel", "use_remove_padding"),
                lambda size, packed: _above_one(size) and packed is not True,
                "use_remove_padding",
                f"{{context_parallel.key}}={{context_parallel}} needs {{use_remove_padding.key}}; {_STOPS}",
                "Set {use_remove_padding.key}=true.",
                {"use_remove_padding": True},
            ),
            (
                ("sequence_parallel",),
                _above_one,
                "sequence_parallel",
                f"{{sequence_parallel.key}}={{sequence_parallel}} is Ulysses, which {name} does not have; {_STOPS}",
                "Set {sequence_parallel.key}=1 and use {context_parallel.key}.",
                {"sequence_parallel": 1},
            ),
        ],
    )


def fully_asynchronous(run: RunConfig) -> Outcome:
    """What the fully asynchronous trainer asks of batches, workers and placement."""
    if run.value("fully_async") is not True:
        return open_question(run, "fully_async") or NOT_APPLICABLE
    workers, mini, stale = "generation_workers", "mini_batch_prompts", "max_staleness"
    return first_clash(
        run,
        [
            (
                (workers, mini),
                lambda count, size: _numbers(count, size) and count < size,
                workers,
                f"{{{workers}.key}}={{{workers}}} is below {{{mini}.key}}={{{mini}}}; {_STOPS}",
                f"Set {{{workers}.key}} to {{{mini}}} or more.",
                {},
            ),
            (
                (workers, mini, stale),
                lambda count, size, age: _numbers(count, size, age) and count > size * (age + 1),
                workers,
                f"{{{workers}.key}}={{{workers}}} is above {{{mini}.key}} x ({{{stale}.key}} + 1) = {{{mini}}} x "
                f"({{{stale}}} + 1); {_STOPS}",
                f"Lower {{{workers}.key}}, or raise {{{stale}.key}}.",
                {},
            ),
            (
                ("train_batch_prompts", mini),
                lambda size, part: _numbers(size, part) and size != part,
                "train_batch_prompts",
                f"{{train_batch_prompts.key}}={{train_batch_prompts}} must equal {{{mini}.key}}={{{mini}}} in fully "
                f"asynchronous training; {_STOPS}",
                "Set both to the same number.",
                {},
            ),
            (
                ("dynamic_sampling",),
                lambda value: value is not None,
                "filter_groups",
                f"{{filter_groups.key}} is not supported in fully asynchronous training; {_STOPS}",
                "Set {filter_groups.key}=null.",
                {"filter_groups": None},
            ),
            (
                ("batched_generation",),
                lambda value: value is True,
                "batched_generation",
                f"{{batched_generation.key}} cannot be interrupted for a weight update; {_STOPS}",
                "Set {batched_generation.key}=false.",
                {"batched_generation": False},
            ),
            (
                ("colocate",),
                lambda value: value is True,
                "colocate",
                f"{{colocate.key}} does not go with fully asynchronous training; {_STOPS}",
                "Set {colocate.key}=false.",
                {"colocate": False},
            ),
        ],
    )


def _above_one(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 1


def _numbers(*values: object) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)
