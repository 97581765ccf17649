"""TRL's batch arithmetic: what GRPOConfig, RLOOConfig and their trainers assert at start-up.

Which assertion runs depends on the release: 0.15 and 0.16 look at one micro-batch over all processes, 0.17 and later at
the whole generation batch. Where the number of processes decides and is not known, the sizes that work are named.
"""

from __future__ import annotations

from math import gcd

from ..configs.adapters.common import whole
from ..configs.run_config import DEFAULT, RunConfig
from ..store.versions import in_range
from .divisors import divisor_at_most
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome, Unknown

_NO_VERSION = NotApplicable("only some TRL releases ask for this; give the version")


def group_divides_generation_batch(run: RunConfig) -> Outcome:
    """A generation batch must hold whole groups (0.17.0 and later; RLOO from 0.22.0)."""
    if run.value("adv_estimator") == "rloo" and not _at(run, ">=0.22.0"):
        return NOT_APPLICABLE
    group = whole(run.value("group_size"))
    if group is not None and group < 2:
        return NOT_APPLICABLE  # group_size_at_least_two speaks
    total = run.settings.get("generation_batch_size")
    if total is not None and total.origin != DEFAULT and total.origin != "derived" and whole(total.value) is not None:
        return _stated_generation_batch(run, group)
    steps_field = "steps_per_generation" if _written(run, "steps_per_generation") else "gradient_accumulation"
    if missing := open_fields(run, "group_size", "micro_batch_per_gpu", steps_field):
        return missing
    per_process = _number(run, "micro_batch_per_gpu") * _number(run, steps_field)
    return _whole_groups(run, per_process, _number(run, "group_size"), steps_field)


def _stated_generation_batch(run: RunConfig, group: int | None) -> Outcome:
    if missing := open_fields(run, "group_size", "generation_batch_size"):
        return missing
    size = _number(run, "generation_batch_size")
    if group is None or size % group == 0:
        return PASS if group else NOT_APPLICABLE
    better = divisor_at_most(size, group)
    return Hit(
        "group_size",
        f"{{generation_batch_size.key}}={size} does not hold whole groups of {{group_size.key}}={group}; TRL stops at "
        "start-up (generation_batch_size must be divisible by num_generations).",
        f"Set {{group_size.key}}={better}, or {{generation_batch_size.key}} to a multiple of {group}.",
        {"group_size": better},
    )


def group_divides_micro_batch(run: RunConfig) -> Outcome:
    """TRL 0.15 and 0.16: the micro-batch over all processes must hold whole groups."""
    if "trl" not in run.versions:
        return _NO_VERSION
    if run.value("adv_estimator") != "grpo":
        return NOT_APPLICABLE
    if missing := open_fields(run, "group_size", "micro_batch_per_gpu"):
        return missing
    return _whole_groups(run, _number(run, "micro_batch_per_gpu"), _number(run, "group_size"), "micro_batch_per_gpu")


def _whole_groups(run: RunConfig, per_process: int, group: int, steps_field: str) -> Outcome:
    """Whether samples of one process times the processes are whole groups."""
    if per_process < 1 or group < 1:
        return NOT_APPLICABLE
    step = group // gcd(group, per_process)
    if step == 1:
        return PASS
    world = whole(run.value("world_size"))
    if world is None:
        return Unknown(frozenset([f"{run.key_of('world_size')} (works with a multiple of {step})"]))
    if world % step == 0:
        return PASS
    total = per_process * world
    by_steps = step // gcd(step, world)
    better = divisor_at_most(total, group)
    message = (
        f"{per_process} samples per process x {world} processes = {total} samples, which are no whole groups of "
        f"{{group_size.key}}={group}; TRL stops at start-up."
    )
    now = _number(run, steps_field)
    fix = f"Set {{{steps_field}.key}}={now * by_steps} ({per_process * by_steps * world} samples)"
    fix += f", or {{group_size.key}}={better}" if better > 1 else ""
    return Hit("group_size", message, f"{fix}, or start a multiple of {step} processes.", {steps_field: now * by_steps})


def group_size_at_least_two(run: RunConfig) -> Outcome:
    """TRL refuses a group of one: it has no baseline."""
    if run.value("adv_estimator") == "rloo" and not _at(run, ">=0.22.0"):
        return NOT_APPLICABLE
    if missing := open_fields(run, "group_size"):
        return missing
    group = whole(run.value("group_size"))
    if group is None or group >= 2:
        return PASS
    return Hit(
        "group_size",
        f"{{group_size.key}}={group}: an advantage compares answers to one prompt and needs at least 2; TRL stops at "
        "start-up.",
        "Set {group_size.key}=8 (at least 2).",
        {"group_size": 8},
    )


def generation_batch_is_multiple(run: RunConfig) -> Outcome:
    """A stated generation_batch_size must be a multiple of the micro-batch over all processes."""
    if not _written(run, "generation_batch_size") or _written(run, "steps_per_generation"):
        return NOT_APPLICABLE
    if missing := open_fields(run, "generation_batch_size", "micro_batch_per_gpu"):
        return missing
    size, micro = _number(run, "generation_batch_size"), _number(run, "micro_batch_per_gpu")
    world = whole(run.value("world_size"))
    if size < 1 or micro < 1:
        return NOT_APPLICABLE
    if world is None and size % micro == 0:
        return Unknown(frozenset([f"{run.key_of('world_size')} (works with a divisor of {size // micro})"]))
    step = micro * (world or 1)
    if size % step == 0:
        return PASS
    group = whole(run.value("group_size")) or 1
    whole_groups = step * group // gcd(step, group)
    better = max(whole_groups, size // whole_groups * whole_groups)
    return Hit(
        "generation_batch_size",
        f"{{generation_batch_size.key}}={size} is no multiple of {micro} samples x {world or 1} processes = {step}; "
        "TRL stops at start-up.",
        f"Set {{generation_batch_size.key}}={better}.",
        {"generation_batch_size": better},
    )


def one_generation_size(run: RunConfig) -> Outcome:
    """generation_batch_size and steps_per_generation exclude each other."""
    both = [run.settings.get(name) for name in ("generation_batch_size", "steps_per_generation")]
    if not all(setting is not None and setting.origin == "explicit" for setting in both):
        return PASS
    return Hit(
        "generation_batch_size",
        "{generation_batch_size.key}={generation_batch_size} and {steps_per_generation.key}={steps_per_generation} are "
        "both set; each follows from the other, and TRL stops at start-up.",
        "Remove {generation_batch_size.key}.",
    )


def eval_batch_holds_groups(run: RunConfig) -> Outcome:
    """With evaluation on, the evaluation batch over all processes must hold whole groups.

    The assertion is in 0.15.0 to 0.19.1 and again from 0.22.0.
    """
    version = run.versions.get("trl")
    if version is not None and (in_range(version, "<0.15.0") or in_range(version, ">=0.20.0,<0.22.0")):
        return NOT_APPLICABLE
    strategy = run.value("eval_strategy")
    if strategy is None or strategy in ("no", False):
        return NOT_APPLICABLE
    if missing := open_fields(run, "eval_batch_per_gpu", "group_size"):
        return missing
    name = "group_size_eval" if whole(run.value("group_size_eval")) else "group_size"
    group, batch = _number(run, name), _number(run, "eval_batch_per_gpu")
    if group < 1 or batch < 1:
        return NOT_APPLICABLE
    step = group // gcd(group, batch)
    world = whole(run.value("world_size"))
    if step == 1 or (world is not None and world % step == 0):
        return PASS
    if world is None:
        return Unknown(frozenset([f"{run.key_of('world_size')} (works with a multiple of {step})"]))
    better = batch * (step // gcd(step, world))
    return Hit(
        "eval_batch_per_gpu",
        f"{{eval_batch_per_gpu.key}}={batch} x {world} processes = {batch * world} samples, which are no whole groups "
        f"of {group} ({{{name}.key}}); with {{eval_strategy.key}}={strategy} TRL stops at start-up.",
        f"Set {{eval_batch_per_gpu.key}}={better}.",
        {"eval_batch_per_gpu": better},
    )


def tensor_parallel_divides(run: RunConfig) -> Outcome:
    """Colocated engines: vllm_tensor_parallel_size must divide the processes."""
    if run.value("rollout_mode") != "colocate":
        return NOT_APPLICABLE
    if missing := open_fields(run, "rollout_tensor_parallel"):
        return missing
    parallel, world = _number(run, "rollout_tensor_parallel"), whole(run.value("world_size"))
    if parallel <= 1:
        return PASS
    if world is None:
        return Unknown(frozenset([f"{run.key_of('world_size')} (works with a multiple of {parallel})"]))
    if world % parallel == 0:
        return PASS
    better = divisor_at_most(world, parallel)
    return Hit(
        "rollout_tensor_parallel",
        f"{{rollout_tensor_parallel.key}}={parallel} does not divide the {world} processes that share their GPUs with "
        "vLLM; TRL stops at start-up.",
        f"Set {{rollout_tensor_parallel.key}}={better}.",
        {"rollout_tensor_parallel": better},
    )


def context_holds_completion(run: RunConfig) -> Outcome:
    """The rollout engine's context must hold prompt and completion."""
    if run.value("use_vllm") is not True or run.value("rollout_mode") == "server":
        return NOT_APPLICABLE
    context, completion = whole(run.value("max_model_len")), whole(run.value("max_response_length"))
    if context is None or completion is None:
        return NOT_APPLICABLE
    prompt = whole(run.value("max_prompt_length")) or 0
    if prompt + completion <= context and completion < context:
        return PASS
    asked = f"{{max_prompt_length.key}}={prompt} + " if prompt else ""
    left = max(context - prompt, 0)
    return Hit(
        "max_model_len",
        f"{asked}{{max_response_length.key}}={completion} tokens do not fit {{max_model_len.key}}={context}: vLLM ends "
        f"a completion after {left} tokens at the longest prompt and refuses a prompt that fills the context.",
        f"Set {{max_model_len.key}}={prompt + completion + (0 if prompt else 512)}.",
        {"max_model_len": prompt + completion + (0 if prompt else 512)},
    )


# -- shared --


def open_fields(run: RunConfig, *names: str) -> Unknown | None:
    """Unknown with the fields that are open; a default counts as open where only a part of the run is known."""
    missing = set()
    for name in names:
        setting = run.settings.get(name)
        if setting is None or not setting.known or (run.partial and setting.origin == DEFAULT):
            missing.add(name)
    return Unknown(frozenset(missing)) if missing else None


def _number(run: RunConfig, name: str) -> int:
    return whole(run.value(name)) or 0


def _written(run: RunConfig, name: str) -> bool:
    setting = run.settings.get(name)
    return setting is not None and setting.origin == "explicit" and setting.value is not None


def _at(run: RunConfig, versions: str) -> bool:
    version = run.versions.get("trl")
    return version is None or in_range(version, versions)
