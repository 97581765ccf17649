"""OpenRLHF's start-up assertions about batches and GPUs, and how a rollout divides into optimizer steps.

Each model has its own group of GPUs (policy, reference, critic, reward model), and DeepSpeed checks the batch sizes in
every group by itself: train_batch_size = micro_train_batch_size x accumulation x data-parallel size of the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ..configs.adapters.common import product
from ..configs.run_config import RunConfig
from ..store.versions import in_range
from .divisors import divisor_at_most, positive
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome, Unknown
from .verl_common import next_multiple, open_question, worst


@dataclass(frozen=True, slots=True)
class Group:
    """One model's GPUs: `nnodes` and `n_gpus` are the canonical fields of its size."""

    title: str
    nnodes: str
    n_gpus: str


_POLICY = Group("policy", "nnodes", "n_gpus")
_REFERENCE = Group("reference model", "ref_nnodes", "ref_n_gpus")
_CRITIC = Group("critic", "critic_nnodes", "critic_n_gpus")
_REWARD = Group("reward model", "reward_nnodes", "reward_n_gpus")


def train_batch_divides(run: RunConfig) -> Outcome:
    """DeepSpeed's assertion train_batch_size == micro_batch x accumulation x ranks, in every group that it starts."""
    if outside := _outside(run):
        return outside
    groups = _deepspeed_groups(run)
    if isinstance(groups, Unknown):
        return groups
    return worst([_divides_in(run, group) for group in groups])


def _outside(run: RunConfig, since: str = "0.8.0") -> NotApplicable | None:
    """Why the source that was read says nothing: an older version is stated, or the program is not the RL trainer."""
    stated = run.versions.get("openrlhf")
    if stated is not None and in_range(stated, f"<{since}"):
        return NotApplicable(f"OpenRLHF before {since} does not do this, or was not read")
    return None if "adv_estimator" in run.settings else NotApplicable("not the RL trainer")


def _deepspeed_groups(run: RunConfig) -> list[Group] | Unknown:
    """The groups whose DeepSpeed config names a batch size. With token batches the trained models' configs do not."""
    if missing := open_question(run, "use_dynamic_bsz", "use_critic", "ref_policy", "remote_reward", "reward_model"):
        return missing
    trained = [] if run.value("use_dynamic_bsz") else [_POLICY, *([_CRITIC] if run.value("use_critic") else [])]
    frozen = [_REFERENCE] if run.value("ref_policy") else []
    scored = run.value("reward_model") and not run.value("remote_reward")
    return [*trained, *frozen, *([_REWARD] if scored else [])]


def _divides_in(run: RunConfig, group: Group) -> Outcome:
    fields = (group.nnodes, group.n_gpus, "train_batch_samples", "micro_batch_per_gpu")
    if missing := open_question(run, *fields, "context_parallel", "tensor_parallel"):
        return missing
    batch, micro = positive(run, "train_batch_samples"), positive(run, "micro_batch_per_gpu")
    ranks = _ranks(run, group)
    if not batch or not micro or not ranks:
        return NOT_APPLICABLE
    if batch % (micro * ranks) == 0:
        return PASS
    better = _train_batch_within_rollout(run, batch, micro * ranks)
    return Hit(
        "train_batch_samples",
        f"{{train_batch_samples.key}} {batch} is no multiple of {{micro_batch_per_gpu.key}} {micro} x {ranks} "
        f"data-parallel ranks of the {group.title} = {micro * ranks}; DeepSpeed stops at start-up (train_batch_size is "
        "not equal to micro_batch_per_gpu * gradient_acc_step * world_size).",
        f"Set {{train_batch_samples.key}} {better}, or change {{micro_batch_per_gpu.key}}.",
        {"train_batch_samples": better},
    )


def _train_batch_within_rollout(run: RunConfig, batch: int, step: int) -> int:
    """The next multiple of `step`, or the last one that a rollout still fills."""
    better = next_multiple(batch, step)
    samples = product(positive(run, "rollout_batch_prompts"), positive(run, "group_size"))
    return samples // step * step if samples and step <= samples < better else better


def _ranks(run: RunConfig, group: Group) -> int | None:
    """Data-parallel ranks of a group: its GPUs over ring attention and tensor parallel size, rounded down."""
    gpus = product(positive(run, group.nnodes), positive(run, group.n_gpus))
    ring, tensor = positive(run, "context_parallel"), positive(run, "tensor_parallel")
    return gpus // ring // tensor if gpus and ring and tensor else None


def enough_sample_batches(run: RunConfig) -> Outcome:
    """A rollout must give every data-parallel rank at least one batch of samples."""
    if outside := _outside(run):
        return outside
    fields = ("rollout_batch_prompts", "group_size", "logprob_micro_batch_per_gpu", "nnodes", "n_gpus")
    if missing := open_question(run, *fields, "context_parallel", "tensor_parallel"):
        return missing
    prompts, group, micro = (positive(run, name) for name in fields[:3])
    ranks = _ranks(run, _POLICY)
    if not prompts or not group or not micro or not ranks:
        return NOT_APPLICABLE
    batches = prompts * group // micro
    if batches >= ranks:
        return PASS
    better = -(-micro * ranks // group)
    return Hit(
        "rollout_batch_prompts",
        f"{{rollout_batch_prompts.key}} {prompts} x {{group_size.key}} {group} // {{logprob_micro_batch_per_gpu.key}} "
        f"{micro} = {batches} batches of samples for {ranks} data-parallel ranks; the launch stops with an assertion "
        "(number of sample batches).",
        f"Set {{rollout_batch_prompts.key}} {better} or more, or lower {{logprob_micro_batch_per_gpu.key}}.",
        {"rollout_batch_prompts": better},
    )


def ranks_train_alike(run: RunConfig) -> Outcome:
    """Every data-parallel rank must run the same number of micro-batches, or its collectives wait for ever."""
    if outside := _outside(run):
        return outside
    fields = ("rollout_batch_prompts", "group_size", "logprob_micro_batch_per_gpu", "micro_batch_per_gpu")
    if missing := open_question(
        run, *fields, "use_dynamic_bsz", "nnodes", "n_gpus", "context_parallel", "tensor_parallel"
    ):
        return missing
    prompts, group, split, micro = (positive(run, name) for name in fields)
    ranks = _ranks(run, _POLICY)
    if run.value("use_dynamic_bsz") or not prompts or not group or not split or not micro or not ranks:
        return NOT_APPLICABLE
    steps = {samples // micro for samples in _sizes_of_ranks(prompts * group, split, ranks)}
    if len(steps) == 1 or prompts * group // split < ranks:  # too few batches is another rule's finding
        return PASS
    better = next_multiple(prompts, ranks * split // gcd(ranks * split, group))
    return Hit(
        "rollout_batch_prompts",
        f"{{rollout_batch_prompts.key}} {prompts} x {{group_size.key}} {group} = {prompts * group} samples, handed out "
        f"in batches of {{logprob_micro_batch_per_gpu.key}} {split} to {ranks} data-parallel ranks, give some ranks "
        f"{max(steps)} micro-batches and others {min(steps)}; those with more wait in a collective for ever.",
        f"Set {{rollout_batch_prompts.key}} {better}.",
        {"rollout_batch_prompts": better},
    )


def _sizes_of_ranks(samples: int, split: int, ranks: int) -> set[int]:
    """How many samples ranks get: batches are dealt out in chunks of equal length, the last ranks get the rest."""
    batches = -(-samples // split)
    share = -(-batches // ranks) * split
    full, rest = divmod(samples, share)
    return {
        *([share] if full else []),
        *([rest] if full < ranks else []),
        *([0] if full + 1 < ranks else []),
    }


def rollout_fills_steps(run: RunConfig) -> Outcome:
    """Samples of a rollout that fill no whole optimizer step."""
    if outside := _outside(run):
        return outside
    if missing := open_question(run, "rollout_batch_prompts", "group_size", "train_batch_samples", "use_dynamic_bsz"):
        return missing
    samples = product(positive(run, "rollout_batch_prompts"), positive(run, "group_size"))
    train = positive(run, "train_batch_samples")
    if not samples or not train:
        return NOT_APPLICABLE
    steps, rest = divmod(samples, train)
    if rest == 0 or (steps == 0 and run.value("use_dynamic_bsz")):  # no step at all is another rule's finding
        return PASS
    have = (
        f"{{rollout_batch_prompts.key}} x {{group_size.key}} = {samples} samples, {{train_batch_samples.key}} {train}: "
    )
    if run.value("use_dynamic_bsz"):
        what = f"{steps} optimizer steps a rollout; the last {rest} samples are generated and never trained on."
    else:
        what = (
            f"{rest} samples a rollout fill no whole optimizer step; their gradients are kept and stepped together "
            "with samples of the next rollout, which newer weights generated."
        )
    lower = divisor_at_most(samples, train)
    return Hit("train_batch_samples", have + what, f"Make it a divisor of {samples}: {lower} is the nearest below.")


def rollout_reaches_a_step(run: RunConfig) -> Outcome:
    """With token batches a rollout smaller than the training batch is never trained on."""
    if outside := _outside(run):
        return outside
    if missing := open_question(run, "rollout_batch_prompts", "group_size", "train_batch_samples", "use_dynamic_bsz"):
        return missing
    samples = product(positive(run, "rollout_batch_prompts"), positive(run, "group_size"))
    train = positive(run, "train_batch_samples")
    if not samples or not train or not run.value("use_dynamic_bsz"):
        return NOT_APPLICABLE
    if samples >= train:
        return PASS
    return Hit(
        "train_batch_samples",
        f"{{train_batch_samples.key}} {train} is more than the {samples} samples of a rollout "
        f"({{rollout_batch_prompts.key}} x {{group_size.key}}); with {{use_dynamic_bsz.key}} that is {samples} // "
        f"{train} = 0 optimizer steps, so nothing is trained.",
        f"Set {{train_batch_samples.key}} {samples}.",
        {"train_batch_samples": samples},
    )


def colocated_engines_fit(run: RunConfig) -> Outcome:
    """On shared GPUs the engines must take exactly the policy's GPUs."""
    if outside := _outside(run):
        return outside
    fields = ("colocate", "async_training", "rollout_engines", "rollout_tensor_parallel", "nnodes", "n_gpus")
    if missing := open_question(run, *fields):
        return missing
    engines, tensor = positive(run, "rollout_engines"), positive(run, "rollout_tensor_parallel")
    gpus = product(positive(run, "nnodes"), positive(run, "n_gpus"))
    if not run.value("colocate") or run.value("async_training") or not engines or not tensor or not gpus:
        return NOT_APPLICABLE
    if engines * tensor == gpus:
        return PASS
    edits = {"rollout_engines": gpus // tensor} if gpus % tensor == 0 else {}
    fix = (
        f"Set {{rollout_engines.key}} {gpus // tensor}."
        if edits
        else f"Choose a tensor parallel size that divides {gpus}."
    )
    return Hit(
        "rollout_engines",
        f"{{colocate.key}} wants the engines on exactly the policy's GPUs, but {{rollout_engines.key}} {engines} x "
        f"{{rollout_tensor_parallel.key}} {tensor} = {engines * tensor} and the policy has {gpus}; the launch stops "
        "with an assertion.",
        fix,
        edits,
    )


def colocated_groups_match(run: RunConfig) -> Outcome:
    """Models that share GPUs must ask for the same nodes and GPUs per node."""
    if outside := _outside(run):
        return outside
    if missing := open_question(
        run, "colocate", "colocate_actor_ref", "colocate_critic_reward", "use_critic", "ref_policy"
    ):
        return missing
    outcomes: list[Outcome] = []
    if (run.value("colocate") or run.value("colocate_actor_ref")) and run.value("ref_policy"):
        outcomes.append(_same_size(run, _POLICY, _REFERENCE))
    if run.value("colocate_critic_reward") and run.value("use_critic"):
        outcomes.append(_same_size(run, _CRITIC, _REWARD))
    return worst(outcomes) if outcomes else NotApplicable("no two models share GPUs")


def _same_size(run: RunConfig, one: Group, other: Group) -> Outcome:
    if missing := open_question(run, one.nnodes, one.n_gpus, other.nnodes, other.n_gpus):
        return missing
    for mine, theirs in ((one.nnodes, other.nnodes), (one.n_gpus, other.n_gpus)):
        if run.value(mine) != run.value(theirs):
            return Hit(
                theirs,
                f"{one.title} and {other.title} share GPUs, but {{{mine}.key}} is {run.value(mine)} and "
                f"{{{theirs}.key}} is {run.value(theirs)}; the launch stops with an assertion.",
                f"Set {{{theirs}.key}} {run.value(mine)}.",
                {theirs: run.value(mine)},
            )
    return PASS


def generation_batch_needs_async(run: RunConfig) -> Outcome:
    """Generating more prompts at a time than a rollout takes needs the asynchronous trainer's queue."""
    if outside := _outside(run, "0.10.0"):
        return outside
    if missing := open_question(run, "generate_batch_prompts", "rollout_batch_prompts", "async_training"):
        return missing
    generated, prompts = positive(run, "generate_batch_prompts"), positive(run, "rollout_batch_prompts")
    if not generated or not prompts:
        return NOT_APPLICABLE
    if generated <= prompts or run.value("async_training"):
        return PASS
    return Hit(
        "generate_batch_prompts",
        f"{{generate_batch_prompts.key}} {generated} is more than {{rollout_batch_prompts.key}} {prompts}; without "
        "{async_training.key} the launch stops with an assertion.",
        f"Set {{generate_batch_prompts.key}} {prompts}, or switch {{async_training.key}} on.",
        {"generate_batch_prompts": prompts},
    )


def engines_exist(run: RunConfig) -> Outcome:
    """Since 0.8.0 only vLLM generates; the flag's default is no engine at all."""
    if outside := _outside(run):
        return outside
    if missing := open_question(run, "rollout_engines"):
        return missing
    if positive(run, "rollout_engines"):
        return PASS
    gpus = product(positive(run, "nnodes"), positive(run, "n_gpus"))
    edits = {"rollout_engines": gpus} if gpus and run.value("colocate") else {}
    return Hit(
        "rollout_engines",
        "{rollout_engines.key} is {rollout_engines}: there are no vLLM engines, and OpenRLHF has no other way to "
        "generate; the launch dies at start-up or at the first rollout.",
        f"Set {{rollout_engines.key}} {gpus if edits else 'to the number of engines'}.",
        edits,
    )
