"""EasyR1's own checks of batch sizes: at start-up of the trainer and of its workers, and when batches are handed out.

`data.rollout_batch_size` and `worker.*.global_batch_size` count prompts; the workers multiply by rollout.n.
"""

from __future__ import annotations

from ..configs.run_config import RunConfig
from .divisors import divisor_at_most, positive
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome
from .verl_common import next_multiple, open_question


def rollout_batch_divides(run: RunConfig) -> Outcome:
    """Prompts of a rollout must be a multiple of the policy's (and the critic's) prompts per optimizer step."""
    if missing := open_question(run, "train_batch_prompts", "mini_batch_prompts", "use_critic"):
        return missing
    critic = ["critic_mini_batch_prompts"] if run.value("use_critic") else []
    for name in ("mini_batch_prompts", *critic):
        if missing := open_question(run, name):
            return missing
        prompts, mini = positive(run, "train_batch_prompts"), positive(run, name)
        if prompts and mini and prompts % mini:
            better = divisor_at_most(prompts, mini)
            return Hit(
                name,
                f"{{train_batch_prompts.key}}={prompts} is no multiple of {{{name}.key}}={mini}; the trainer stops at "
                "start-up (rollout batch size must be divisible).",
                f"Set {{{name}.key}}={better}.",
                {name: better},
            )
    return PASS


def experience_batch_divides(run: RunConfig) -> Outcome:
    """Samples of a rollout must be a multiple of the samples per log-prob forward."""
    fields = ("train_batch_prompts", "group_size", "logprob_micro_batch_per_gpu")
    if missing := open_question(run, *fields):
        return missing
    prompts, group, micro = (positive(run, name) for name in fields)
    if not prompts or not group or not micro:
        return NOT_APPLICABLE
    if prompts * group % micro == 0:
        return PASS
    better = divisor_at_most(prompts * group, micro)
    return Hit(
        "logprob_micro_batch_per_gpu",
        f"{{train_batch_prompts.key}}={prompts} x {{group_size.key}}={group} = {prompts * group} samples are no "
        f"multiple of {{logprob_micro_batch_per_gpu.key}}={micro}; the trainer stops at start-up.",
        f"Set {{logprob_micro_batch_per_gpu.key}}={better}.",
        {"logprob_micro_batch_per_gpu": better},
    )


def micro_batch_divides(run: RunConfig) -> Outcome:
    """Samples per optimizer step and rank: more than none, and a multiple of the micro-batch."""
    if missing := open_question(run, *_MINI_FIELDS, "micro_batch_per_gpu"):
        return missing
    samples, ranks, micro = _mini_samples(run), _ranks(run), positive(run, "micro_batch_per_gpu")
    if not samples or not ranks or not micro:
        return NOT_APPLICABLE
    per_rank = samples // ranks
    if per_rank and per_rank % micro == 0:
        return PASS
    what = f"{{mini_batch_prompts.key}} x {{group_size.key}} = {samples} samples over {ranks} data-parallel ranks"
    if not per_rank:
        fix = f"Set {{mini_batch_prompts.key}} so that it times {{group_size.key}} reaches {ranks}."
        return Hit("mini_batch_prompts", f"{what} leave none for a rank; the workers stop at start-up.", fix)
    better = divisor_at_most(per_rank, micro)
    return Hit(
        "micro_batch_per_gpu",
        f"{what} are {per_rank} a rank, no multiple of {{micro_batch_per_gpu.key}}={micro}; the workers stop at "
        "start-up.",
        f"Set {{micro_batch_per_gpu.key}}={better}.",
        {"micro_batch_per_gpu": better},
    )


def cpu_offload_without_accumulation(run: RunConfig) -> Outcome:
    """FSDP's CPU offload does not go with gradient accumulation."""
    if missing := open_question(run, "fsdp_cpu_offload", *_MINI_FIELDS, "micro_batch_per_gpu"):
        return missing
    samples, ranks, micro = _mini_samples(run), _ranks(run), positive(run, "micro_batch_per_gpu")
    if not run.value("fsdp_cpu_offload") or not samples or not ranks or not micro:
        return NOT_APPLICABLE
    per_rank = samples // ranks
    if per_rank == micro:
        return PASS
    return Hit(
        "fsdp_cpu_offload",
        f"{{fsdp_cpu_offload.key}} is on, and {per_rank} samples a rank in micro-batches of {micro} need gradient "
        "accumulation; the workers stop at start-up.",
        "Switch {fsdp_cpu_offload.key} off and use {offload_param.key} and {offload_optimizer.key} instead.",
        {"fsdp_cpu_offload": False},
    )


def prompts_divide_over_gpus(run: RunConfig) -> Outcome:
    """Every batch that is generated is handed out to all GPUs in equal parts."""
    if missing := open_question(run, "generate_batch_prompts", "world_size"):
        return missing
    prompts, world = positive(run, "generate_batch_prompts"), positive(run, "world_size")
    if not prompts or not world:
        return NOT_APPLICABLE
    if prompts % world == 0:
        return PASS
    anchor = "generate_batch_prompts"
    better = next_multiple(prompts, world)
    return Hit(
        anchor,
        f"{prompts} prompts do not divide over {world} GPUs; the first rollout stops with an assertion (only support "
        "equal chunk).",
        f"Set {{train_batch_prompts.key}} (and {{{anchor}.key}}, if set) to a multiple of {world}, such as {better}.",
    )


def engine_divides_gpus(run: RunConfig) -> Outcome:
    """Engines of equal size must cover the GPUs."""
    if missing := open_question(run, "rollout_tensor_parallel", "world_size"):
        return missing
    tensor, world = positive(run, "rollout_tensor_parallel"), positive(run, "world_size")
    if not tensor or not world:
        return NOT_APPLICABLE
    if world % tensor == 0:
        return PASS
    better = divisor_at_most(world, tensor)
    return Hit(
        "rollout_tensor_parallel",
        f"{{rollout_tensor_parallel.key}}={tensor} does not divide the {world} GPUs; the workers stop at start-up.",
        f"Set {{rollout_tensor_parallel.key}}={better}.",
        {"rollout_tensor_parallel": better},
    )


def tokens_fit_the_engine(run: RunConfig) -> Outcome:
    """A whole prompt and response must fit into one step of the engine."""
    fields = ("max_num_batched_tokens", "max_prompt_length", "max_response_length")
    if missing := open_question(run, *fields):
        return missing
    budget, prompt, response = (positive(run, name) for name in fields)
    if budget is None or prompt is None or response is None:
        return NOT_APPLICABLE
    if budget >= prompt + response:
        return PASS
    return Hit(
        "max_num_batched_tokens",
        f"{{max_num_batched_tokens.key}}={budget} is less than {{max_prompt_length.key}} {prompt} + "
        f"{{max_response_length.key}} {response} = {prompt + response}; the workers stop at start-up.",
        f"Set {{max_num_batched_tokens.key}}={prompt + response} or more.",
        {"max_num_batched_tokens": prompt + response},
    )


_MINI_FIELDS = ("mini_batch_prompts", "group_size", "world_size", "sequence_parallel")


def _mini_samples(run: RunConfig) -> int | None:
    mini, group = positive(run, "mini_batch_prompts"), positive(run, "group_size")
    return mini * group if mini and group else None


def _ranks(run: RunConfig) -> int | None:
    world, ulysses = positive(run, "world_size"), positive(run, "sequence_parallel")
    return world // ulysses if world and ulysses else None
