"""slime: how a rollout becomes optimizer steps (slime/utils/arguments.py, slime/ray/rollout.py). Sizes in samples."""

from __future__ import annotations

from ..configs.adapters.common import product
from ..configs.run_config import DERIVED, RunConfig
from .divisors import divisor_at_most
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome
from .verl_common import number, open_question


def steps_match_global_batch(run: RunConfig) -> Outcome:
    """`--num-steps-per-rollout` fixes the global batch; one given beside it must be the same."""
    rounds = number(run, "steps_per_rollout")
    if not rounds or rounds < 1:
        return NOT_APPLICABLE
    if missing := open_question(run, "rollout_batch_prompts", "group_size", "train_batch_samples"):
        return missing
    samples, step = _rollout(run), number(run, "train_batch_samples")
    if not samples or run.settings["train_batch_samples"].origin == DERIVED:
        return NOT_APPLICABLE
    if step == samples // rounds:
        return PASS
    return Hit(
        "train_batch_samples",
        f"{{rollout_batch_prompts.key}}={{rollout_batch_prompts}} x {{group_size.key}}={{group_size}} samples in "
        f"{{steps_per_rollout.key}}={rounds} steps make a global batch of {samples // rounds}, not {step}; slime stops "
        "at start-up.",
        f"Set {{train_batch_samples.key}}={samples // rounds}, or remove {{steps_per_rollout.key}}.",
        {"train_batch_samples": samples // rounds},
    )


def rollout_is_multiple_of_global_batch(run: RunConfig) -> Outcome:
    """Samples of a rollout that fill no global batch: an error up to 0.2.1."""
    return _leftover(run, "slime stops at start-up.")


def rollout_leaves_nothing_over(run: RunConfig) -> Outcome:
    """The same from 0.2.2 on, where what is left over is generated, scored and thrown away."""
    return _leftover(run, "the rest is generated, scored and thrown away in every rollout.")


def _leftover(run: RunConfig, consequence: str) -> Outcome:
    if run.value("loss_type") == "sft_loss":
        return NotApplicable("supervised training")
    if "--use-dynamic-global-batch-size" in run.native:  # 0.2.2 - 0.2.4
        return NotApplicable("the global batch follows the samples of each rollout")
    if missing := open_question(run, "rollout_batch_prompts", "group_size", "train_batch_samples"):
        return missing
    samples, step = _rollout(run), number(run, "train_batch_samples")
    if not samples or not step or step < 1:
        return NOT_APPLICABLE
    if samples % step == 0:
        return PASS
    shown = f"{{rollout_batch_prompts.key}}={{rollout_batch_prompts}} x {{group_size.key}}={{group_size}} = {samples}"
    left = f"{samples % step} samples over" if samples > step else "fewer samples than one batch"
    if samples < step:
        consequence = "slime stops in the first step or at start-up."
    better = divisor_at_most(samples, step)
    return Hit(
        "train_batch_samples",
        f"{shown} samples and {{train_batch_samples.key}}={step} leave {left}; {consequence}",
        f"Set {{train_batch_samples.key}}={better}.",
        {"train_batch_samples": better},
    )


def _rollout(run: RunConfig) -> int | None:
    return product(run.value("rollout_batch_prompts"), run.value("group_size"))
