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

# Trainers that check the same arithmetic themselves; the others hand it on to TRL
_CHECKS_ITSELF = {"ms-swift": "ms-swift"}
_NO_VERSION = NotApplicable("only some TRL releases ask for this; give the version")


def group_divides_generation_batch(run: RunConfig) -> Outcome:
    """A generation batch must hold whole groups (0.17.0 and later; RLOO from 0.22.0); axolotl asks for more."""
    outcome = _holds_groups(run)
    return _group_for_each_process(run) or outcome if outcome is PASS and run.framework == "axolotl" else outcome


def _holds_groups(run: RunConfig) -> Outcome:
    if run.value("adv_estimator") == "rloo" and not _at(run, ">=0.22.0"):
        return NOT_APPLICABLE
    group = whole(run.value("group_size"))
    if group is not None and group < 2:
        return NOT_APPLICABLE  # group_size_at_least_two speaks
    if _counts_one_process(run):
        return _groups_of_one_process(run)
    if run.value("sharding_backend") == "megatron":  # whole global batches, whatever the micro-batch is
        version = run.versions.get("ms-swift")  # before 4.2.0 what is left over is dropped without a check
        old = version is not None and in_range(version, "<4.2.0")
        return NOT_APPLICABLE if old else _stated_generation_batch(run, group)
    total = run.settings.get("generation_batch_size")
    if total is not None and total.origin != DEFAULT and total.origin != "derived" and whole(total.value) is not None:
        return _stated_generation_batch(run, group)
    steps_field = "steps_per_generation" if _written(run, "steps_per_generation") else "gradient_accumulation"
    if missing := open_fields(run, "group_size", "micro_batch_per_gpu", steps_field):
        return missing
    per_process = _number(run, "micro_batch_per_gpu") * _number(run, steps_field)
    return _whole_groups(run, per_process, _number(run, "group_size"), steps_field)


def _counts_one_process(run: RunConfig) -> bool:
    """axolotl 0.17.0 to 0.20.0 refuse a stated group size that the samples of one process are no multiple of."""
    return _axolotl(run, ">=0.17.0,<0.21.0") and _stated(run)


def _axolotl(run: RunConfig, versions: str) -> bool:
    version = run.versions.get("axolotl")
    return run.framework == "axolotl" and version is not None and in_range(version, versions)


def _stated(run: RunConfig) -> bool:
    return _written(run, "group_size") and not _written(run, "generation_batch_size")


def _groups_of_one_process(run: RunConfig) -> Outcome:
    if missing := open_fields(run, "group_size", "micro_batch_per_gpu", "gradient_accumulation"):
        return missing
    group, micro = _number(run, "group_size"), _number(run, "micro_batch_per_gpu")
    steps = _number(run, "gradient_accumulation")
    if group < 1 or micro < 1 or micro * steps % group == 0:
        return PASS
    better = _enough_steps(run, micro, group)
    return Hit(
        "group_size",
        f"{{micro_batch_per_gpu.key}}={micro} x {{gradient_accumulation.key}}={steps} = {micro * steps} samples of one "
        f"process, which are no whole groups of {{group_size.key}}={group}; axolotl stops when it reads the config, "
        "whatever the number of processes is.",
        f"Set {{gradient_accumulation.key}}={better} ({micro * better} samples), or trl.generation_batch_size.",
        {"gradient_accumulation": better},
    )


def _enough_steps(run: RunConfig, micro: int, group: int) -> int:
    """The fewest micro-batches of whole groups, one for each process."""
    whole_groups = micro * group // gcd(micro, group)
    least = group * (whole(run.value("world_size")) or 1)
    return -(-least // whole_groups) * whole_groups // micro


def _group_for_each_process(run: RunConfig) -> Hit | None:
    """axolotl 0.17.0 and later want a group for each process; below 0.21.0 they count one process's samples alone."""
    world, group = whole(run.value("world_size")) or 1, _number(run, "group_size")
    if world < 2 or not _axolotl(run, ">=0.17.0") or not _written(run, "group_size"):
        return None
    micro, steps = _number(run, "micro_batch_per_gpu"), _number(run, "gradient_accumulation")
    stated, field = _written(run, "generation_batch_size"), "gradient_accumulation"
    size, shown = micro * steps, f"{{micro_batch_per_gpu.key}} x {{{field}.key}} = {micro * steps}"
    better = _enough_steps(run, micro, group) if micro else 0
    if stated:
        field, size = "generation_batch_size", _number(run, "generation_batch_size")
        shown, better = f"{{{field}.key}}={size}", group * world
    elif _axolotl(run, ">=0.21.0"):
        size, shown = size * world, f"{shown} x {world} processes = {size * world}"
        better = group // gcd(group, micro) if micro else 0
    if size < 1 or size >= group * world:
        return None
    text = f"{shown} is below {{group_size.key}}={group} x {world} processes = {group * world}"
    fix = f"Set {{{field}.key}}={better}."
    return Hit(field, f"{text}; axolotl stops when it reads the config.", fix, {field: better})


def _stated_generation_batch(run: RunConfig, group: int | None) -> Outcome:
    if missing := open_fields(run, "group_size", "generation_batch_size"):
        return missing
    size = _number(run, "generation_batch_size")
    if group is None or size % group == 0:
        return PASS if group else NOT_APPLICABLE
    better = divisor_at_most(size, group)
    return Hit(
        "group_size",
        f"{{generation_batch_size.key}}={size} does not hold whole groups of {{group_size.key}}={group}; "
        f"{trainer(run)} stops at start-up (generation_batch_size must be divisible by num_generations).",
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
        f"{{group_size.key}}={group}; {trainer(run)} stops at start-up."
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
    if group is None or group >= 2 or _learns_from_a_teacher(run):
        return PASS
    return Hit(
        "group_size",
        f"{{group_size.key}}={group}: an advantage compares answers to one prompt and needs at least 2; {trainer(run)} "
        "stops at start-up.",
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
    if size < 1 or micro < 1 or run.value("sharding_backend") == "megatron":
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
        f"{trainer(run)} stops at start-up.",
        f"Set {{generation_batch_size.key}}={better}.",
        {"generation_batch_size": better},
    )


def one_generation_size(run: RunConfig) -> Outcome:
    """generation_batch_size and steps_per_generation exclude each other."""
    both = [run.settings.get(name) for name in ("generation_batch_size", "steps_per_generation")]
    if not all(setting is not None and setting.origin == "explicit" and setting.value is not None for setting in both):
        return PASS
    if run.framework == "ms-swift" and "ms-swift" in run.versions and in_range(run.versions["ms-swift"], ">=4.2.0"):
        return _sizes_agree(run)
    return Hit(
        "generation_batch_size",
        "{generation_batch_size.key}={generation_batch_size} and {steps_per_generation.key}={steps_per_generation} are "
        f"both set; each follows from the other, and {trainer(run)} stops at start-up.",
        "Remove {generation_batch_size.key}.",
    )


def _sizes_agree(run: RunConfig) -> Outcome:
    """ms-swift 4.2.0 and later take both, as long as they say the same."""
    if missing := open_fields(run, "generation_batch_size", "steps_per_generation", "micro_batch_per_gpu"):
        return missing
    world = whole(run.value("world_size"))
    if world is None:
        return Unknown(frozenset([run.key_of("world_size")]))
    steps, micro = _number(run, "steps_per_generation"), _number(run, "micro_batch_per_gpu")
    if steps * micro * world == _number(run, "generation_batch_size"):
        return PASS
    return Hit(
        "generation_batch_size",
        f"{{generation_batch_size.key}}={{generation_batch_size}}, but {micro} samples x {world} processes x "
        f"{{steps_per_generation.key}}={steps} = {steps * micro * world}; ms-swift stops at start-up.",
        f"Set {{generation_batch_size.key}}={steps * micro * world}, or remove it.",
        {"generation_batch_size": steps * micro * world},
    )


def eval_batch_holds_groups(run: RunConfig) -> Outcome:
    """With evaluation on, the evaluation batch over all processes must hold whole groups.

    The assertion is in 0.15.0 to 0.19.1 and again from 0.22.0.
    """
    version = None if run.framework in _CHECKS_ITSELF else run.versions.get("trl")
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
        f"of {group} ({{{name}.key}}); with {{eval_strategy.key}}={strategy} {trainer(run)} stops at start-up.",
        f"Set {{eval_batch_per_gpu.key}}={better}.",
        {"eval_batch_per_gpu": better},
    )


def tensor_parallel_divides(run: RunConfig) -> Outcome:
    """Colocated engines: vllm_tensor_parallel_size must divide the processes."""
    if run.value("rollout_mode") != "colocate" or run.value("use_vllm") is False:
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
        f"vLLM; {trainer(run)} stops at start-up.",
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


def trainer(run: RunConfig) -> str:
    """Who makes the check, for messages."""
    return _CHECKS_ITSELF.get(run.framework, "TRL")


def _learns_from_a_teacher(run: RunConfig) -> bool:
    """ms-swift 4.4.0 and later: with a teacher a group of one has a signal."""
    version = run.versions.get("ms-swift")
    if run.framework != "ms-swift" or (version is not None and in_range(version, "<4.4.0")):
        return False
    return any(name.startswith("teacher") and item.value for name, item in run.native.items())


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
