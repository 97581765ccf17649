"""verl's batch arithmetic: what its own assertions accept, at start-up and in the first step.

Two generations of trainer code differ. The "legacy" workers (up to 0.7.1) divide rounding down; the "unified" engine
(the only one since 0.8.0) asserts. Where they disagree and the version is not known, a check stays open.
Prompts are counted in `train_batch_prompts` and `mini_batch_prompts`, samples are prompts times `group_size`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, gcd, lcm

from ..configs.adapters.common import whole
from ..configs.adapters.verl_batch import ranks
from ..configs.run_config import DEFAULT, RunConfig
from ..store.versions import in_range
from .divisors import divisor_at_most
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome, Unknown
from .verl_common import (
    LEGACY,
    RANKED_BACKENDS,
    by_generation,
    default_note,
    generations,
    gpus,
    next_multiple,
    number,
    open_question,
    rollout_has_own_gpus,
    starts_from_stock,
    worst,
)

_OWN_PROGRAM = NotApplicable("the program starts from a config of its own, which may not run verl's start-up checks")
_ASYNCHRONOUS = NotApplicable("the batch of a step is assembled asynchronously")
_NO_RANKS = NotApplicable("data-parallel size of this engine is not modelled")


def train_batch_divides(run: RunConfig) -> Outcome:
    """Samples per step must divide over the GPUs (Megatron: over data-parallel ranks times micro-batch)."""
    if not starts_from_stock(run):
        return _OWN_PROGRAM
    if missing := open_question(
        run, "use_dynamic_bsz", "train_batch_prompts", "group_size", "world_size", "sharding_backend"
    ):
        return missing
    prompts, group, world = (number(run, name) for name in ("train_batch_prompts", "group_size", "world_size"))
    if run.value("use_dynamic_bsz") or not prompts or not group or not world:
        return NOT_APPLICABLE
    divisor, meaning = world, gpus(world)
    if run.value("sharding_backend") == "megatron":
        count, micro = ranks(run), whole(run.value("micro_batch_per_gpu"))
        if not count or not micro:
            return NOT_APPLICABLE
        divisor, meaning = count * micro, f"{count} data-parallel ranks x micro-batch {micro} = {count * micro}"
    if prompts * group % divisor == 0:
        return PASS
    better = next_multiple(prompts, divisor // gcd(divisor, group))
    return Hit(
        "train_batch_prompts",
        f"{{train_batch_prompts.key}}={prompts} x {{group_size.key}}={group} gives {prompts * group} samples, which "
        f"{meaning} do not divide; verl stops at start-up (real_train_batch_size must be divisible).",
        f"Set {{train_batch_prompts.key}}={better} ({better} x {group} = {better * group}).",
        {"train_batch_prompts": better},
    )


def train_batch_covers_mini_batch(run: RunConfig) -> Outcome:
    """Without dynamic batching a training batch must hold at least one mini-batch, for actor and critic."""
    if not starts_from_stock(run):
        return _OWN_PROGRAM
    switches = {"mini_batch_prompts": "use_dynamic_bsz"}
    if run.value("use_critic"):
        switches["critic_mini_batch_prompts"] = "critic_use_dynamic_bsz"
    outcomes = [_covers(run, mini, dynamic) for mini, dynamic in switches.items()]
    return worst(outcomes)


def _covers(run: RunConfig, mini_field: str, dynamic_field: str) -> Outcome:
    if missing := open_question(run, dynamic_field, "train_batch_prompts", mini_field):
        return missing
    prompts, mini = number(run, "train_batch_prompts"), number(run, mini_field)
    if run.value(dynamic_field) or not prompts or not mini:
        return NOT_APPLICABLE
    if prompts >= mini:
        return PASS
    return Hit(
        mini_field,
        f"{{train_batch_prompts.key}}={prompts} is smaller than {{{mini_field}.key}}={mini}"
        f"{default_note(run, mini_field)}; verl stops at start-up (train_batch_size must be >= ppo_mini_batch_size).",
        f"Set {{{mini_field}.key}}={prompts} or lower.",
        {mini_field: prompts},
    )


def train_batch_is_multiple_of_mini_batch(run: RunConfig) -> Outcome:
    """verl 0.8's main_ppo cuts the batch into whole mini-batches and asserts that nothing is left."""
    if not starts_from_stock(run):
        return NotApplicable("the program has a trainer of its own, which may assemble the batch otherwise")
    if missing := open_question(run, "train_batch_prompts", "mini_batch_prompts"):
        return missing
    prompts, mini = number(run, "train_batch_prompts"), number(run, "mini_batch_prompts")
    if not prompts or not mini:
        return NOT_APPLICABLE
    if prompts % mini == 0:
        return PASS
    better = divisor_at_most(prompts, mini)
    return Hit(
        "mini_batch_prompts",
        f"{{train_batch_prompts.key}}={prompts} is not a multiple of {{mini_batch_prompts.key}}={mini}"
        f"{default_note(run, 'mini_batch_prompts')}; the actor update of verl.trainer.main_ppo fails its assertion "
        "in the first step.",
        f"Set {{mini_batch_prompts.key}}={better}, or {{train_batch_prompts.key}}={next_multiple(prompts, mini)}.",
        {"mini_batch_prompts": better},
    )


def mini_batch_divides_over_ranks(run: RunConfig) -> Outcome:
    """Every rank needs a share of a mini-batch: a whole one (unified), at least one sample (legacy FSDP)."""
    if rollout_has_own_gpus(run):
        return _ASYNCHRONOUS
    if run.value("sharding_backend") not in RANKED_BACKENDS:
        return _NO_RANKS
    if missing := open_question(run, "mini_batch_prompts", "group_size", "data_parallel_size"):
        return missing
    mini, group, count = number(run, "mini_batch_prompts"), number(run, "group_size"), ranks(run)
    if not mini or not group or not count:
        return NOT_APPLICABLE
    samples = mini * group
    better = next_multiple(mini, count // gcd(count, group))
    intro = f"{{mini_batch_prompts.key}}={mini} x {{group_size.key}}={group} gives {samples} samples"
    fix = f"Set {{mini_batch_prompts.key}}={better} ({better} x {group} = {better * group})."

    def unified() -> Outcome:
        if samples % count == 0:
            return PASS
        text = f"{intro}, which {count} data-parallel ranks do not divide; the actor update fails its assertion."
        return Hit("mini_batch_prompts", text, fix, {"mini_batch_prompts": better})

    def legacy() -> Outcome:
        if run.value("sharding_backend") == "megatron" or samples >= count:
            return PASS
        text = f"{intro} for {count} data-parallel ranks, 0 on each; verl stops when the actor worker starts."
        return Hit("mini_batch_prompts", text, fix, {"mini_batch_prompts": better})

    return by_generation(run, legacy, unified)


def micro_batch_divides_mini_batch(run: RunConfig) -> Outcome:
    """A rank's share of a mini-batch must be a whole number of micro-batches."""
    if run.value("sharding_backend") not in RANKED_BACKENDS:
        return _NO_RANKS
    needed = ("use_dynamic_bsz", "micro_batch_per_gpu", "mini_batch_prompts", "group_size", "data_parallel_size")
    if missing := open_question(run, *needed):
        return missing
    mini, group, micro = (number(run, name) for name in ("mini_batch_prompts", "group_size", "micro_batch_per_gpu"))
    count = ranks(run)
    if not mini or not group or not micro or not count:
        return NOT_APPLICABLE
    share = mini * group // count

    def hit() -> Outcome:
        better = divisor_at_most(share, micro)
        return Hit(
            "micro_batch_per_gpu",
            f"A rank's share of a mini-batch is {mini} x {group} / {count} = {share} samples, which "
            f"{{micro_batch_per_gpu.key}}={micro} does not divide; verl's assertion stops the actor.",
            f"Set {{micro_batch_per_gpu.key}}={better}.",
            {"micro_batch_per_gpu": better},
        )

    def unified() -> Outcome:
        if run.value("use_dynamic_bsz"):
            return NOT_APPLICABLE
        return PASS if mini * group % count or share % micro == 0 else hit()

    def legacy() -> Outcome:
        # the FSDP worker asserts this even with dynamic batching; Megatron's splits unevenly
        fsdp = run.value("sharding_backend") != "megatron"
        return hit() if fsdp and share and share % micro else PASS

    return by_generation(run, legacy, unified)


def log_prob_micro_batch_divides_batch(run: RunConfig) -> Outcome:
    """Unified engine, no dynamic batching: a rank's share of the batch must be whole log-prob micro-batches."""
    if run.value("sharding_backend") not in RANKED_BACKENDS:
        return _NO_RANKS
    if rollout_has_own_gpus(run):
        return _ASYNCHRONOUS
    needed = ("use_dynamic_bsz", "train_batch_prompts", "mini_batch_prompts", "group_size", "data_parallel_size")
    if missing := open_question(run, *needed):
        return missing
    prompts, mini, group = (number(run, name) for name in ("train_batch_prompts", "mini_batch_prompts", "group_size"))
    count = ranks(run)
    if run.value("use_dynamic_bsz") or run.value("use_critic") or not prompts or not mini or not group or not count:
        return NOT_APPLICABLE
    if prompts * group % count or mini * group % count:
        return PASS  # reported by the checks above
    # the V1 trainer (default since 0.9.0) pads the batch to whole mini-batches first
    padded = next_multiple(prompts * group, lcm(count, mini * group))
    shares = {total // count for total in _totals(run, prompts * group, padded)}
    return worst([_log_prob_share(run, name, shares) for name in _log_prob_fields(run)] or [NOT_APPLICABLE])


def _totals(run: RunConfig, exact: int, padded: int) -> set[int]:
    version, v1 = run.versions.get("verl"), run.value("use_v1_trainer")
    if (version is not None and in_range(version, "<0.9.0")) or v1 is False:
        return {exact}
    return {padded} if version is not None and v1 is True else {exact, padded}


def _log_prob_fields(run: RunConfig) -> Iterator[str]:
    """Micro-batch settings of the log-prob passes that take place."""
    if run.value("bypass_mode") is not True:
        yield "logprob_micro_batch_per_gpu"
    if run.value("ref_policy") is True and not run.value("lora_rank"):
        yield "ref_logprob_micro_batch_per_gpu"


def _log_prob_share(run: RunConfig, name: str, shares: set[int]) -> Outcome:
    if missing := open_question(run, name):
        return missing
    micro = number(run, name)
    failing = [share for share in sorted(shares) if micro and share % micro]
    if not micro or not failing:
        return PASS
    if len(failing) < len(shares):
        return Unknown(frozenset(["verl_version"]))
    share, better = failing[0], divisor_at_most(failing[0], micro)
    return Hit(
        name,
        f"A rank's share of the batch is {share} samples, which {{{name}.key}}={micro} does not divide; the log-prob "
        "pass fails its assertion in the first step.",
        f"Set {{{name}.key}}={better}.",
        {name: better},
    )


def micro_batch_is_set(run: RunConfig) -> Outcome:
    """Without dynamic batching each pass needs a micro-batch size; verl has no default for it."""
    outcomes = [_is_set(run, *row) for row in _micro_batch_fields(run)]
    return worst(outcomes)


def _micro_batch_fields(run: RunConfig) -> Iterator[tuple[str, str, str]]:
    """(per-GPU field, deprecated global field, dynamic switch that makes both needless) of every pass."""
    yield "micro_batch_per_gpu", "micro_batch", "use_dynamic_bsz"
    yield "logprob_micro_batch_per_gpu", "logprob_micro_batch", "use_dynamic_bsz"
    if run.value("ref_policy") is True:
        yield "ref_logprob_micro_batch_per_gpu", "ref_logprob_micro_batch", "use_dynamic_bsz"
    if run.value("use_critic") is True:
        yield "critic_micro_batch_per_gpu", "critic_micro_batch", "critic_use_dynamic_bsz"


def _is_set(run: RunConfig, per_gpu: str, total: str, dynamic: str) -> Outcome:
    if per_gpu not in run.settings:
        return NOT_APPLICABLE  # the engine or version has no such key
    if run.value(dynamic):
        return NOT_APPLICABLE
    names = [name for name in (per_gpu, total) if name in run.settings]
    if missing := open_question(run, dynamic, *names):
        return missing
    if any(run.value(name) is not None for name in names):
        return PASS
    return Hit(
        per_gpu,
        f"{{{per_gpu}.key}} is not set and {{{dynamic}.key}} is off; verl has no default for it and stops at start-up.",
        f"Set {{{per_gpu}.key}}=1 (more if memory allows), or {{{dynamic}.key}}=true.",
        {per_gpu: 1},
    )


def micro_batch_is_set_once(run: RunConfig) -> Outcome:
    """The per-GPU and the deprecated global micro-batch size exclude each other."""
    outcomes = [_is_set_once(run, *row) for row in _micro_batch_fields(run)]
    return worst(outcomes)


def _is_set_once(run: RunConfig, per_gpu: str, total: str, dynamic: str) -> Outcome:
    both = [run.settings.get(name) for name in (per_gpu, total)]
    if any(setting is None or setting.origin == DEFAULT or setting.value is None for setting in both):
        return PASS
    if missing := open_question(run, dynamic):
        return missing
    if run.value(dynamic):
        return NOT_APPLICABLE
    return Hit(
        total,
        f"Both {{{per_gpu}.key}}={{{per_gpu}}} and the deprecated {{{total}.key}}={{{total}}} are set; verl stops at "
        "start-up.",
        f"Remove {{{total}.key}}.",
    )


def token_budget_holds_padded_sequence(run: RunConfig) -> Outcome:
    """Legacy workers: with dynamic batching each budget must hold max prompt + max response, to which all is padded."""
    if generations(run) != [LEGACY]:
        return NotApplicable("only the legacy workers (verl <= 0.7.1) pad every sequence to its longest")
    return _token_budget(run, "every sequence is padded to that length, so the first pass fails its assertion")


def token_budget_holds_longest_sequence(run: RunConfig) -> Outcome:
    """Unified engine: a sequence longer than the token budget of a micro-batch stops the run when it occurs."""
    if generations(run) == [LEGACY]:
        return NotApplicable("only the unified engine (verl >= 0.8.0) measures real lengths")
    return _token_budget(run, "the run stops with an assertion as soon as one sequence is longer than the budget")


def _token_budget(run: RunConfig, consequence: str) -> Outcome:
    if run.value("sharding_backend") not in RANKED_BACKENDS:
        return _NO_RANKS
    if missing := open_question(run, "use_dynamic_bsz", "max_prompt_length", "max_response_length"):
        return missing
    if not run.value("use_dynamic_bsz"):
        return NOT_APPLICABLE
    return worst([_budget(run, name, consequence) for name in _budget_fields(run)])


def _budget_fields(run: RunConfig) -> Iterator[str]:
    yield "max_token_len_per_gpu"
    if run.value("bypass_mode") is not True and run.value("logprob_use_dynamic_bsz", True):
        yield "logprob_max_token_len_per_gpu"
    if run.value("ref_policy") is True and not run.value("lora_rank"):
        yield "ref_max_token_len_per_gpu"


def _budget(run: RunConfig, name: str, consequence: str) -> Outcome:
    shared_by = "context_parallel" if run.value("sharding_backend") == "megatron" else "sequence_parallel"
    if missing := open_question(run, name, shared_by):
        return missing
    prompt, response = number(run, "max_prompt_length"), number(run, "max_response_length")
    budget, split = number(run, name), number(run, shared_by)
    if not prompt or not response or not budget or not split:
        return NOT_APPLICABLE
    longest = prompt + response
    if budget * split >= longest:
        return PASS
    better = ceil(longest / split)
    times = f" x {{{shared_by}.key}}={split}" if split > 1 else ""
    return Hit(
        name,
        f"{{{name}.key}}={budget}{times} is below {{max_prompt_length.key}} + {{max_response_length.key}} = "
        f"{prompt} + {response} = {longest} tokens; {consequence}.",
        f"Set {{{name}.key}}={better} or more.",
        {name: better},
    )
