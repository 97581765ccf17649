"""verl's settings without a default: what the user has to name."""

from __future__ import annotations

from ..configs.run_config import RunConfig
from .outcome import PASS, Hit, NotApplicable, Outcome
from .verl_common import starts_from_stock


def rollout_engine_is_named(run: RunConfig) -> Outcome:
    """`rollout.name` has no default since 0.6.0; Hydra stops where it is first read."""
    if run.partial or not starts_from_stock(run):
        return NotApplicable("only part of the settings is known")
    if "rollout_engine" in run.settings:
        return PASS
    if not any(key.startswith("actor_rollout_ref.") for key in run.native):
        return NotApplicable("the launch takes its settings from elsewhere")
    return Hit(
        "rollout_engine",
        "{rollout_engine.key} is not set and has no default; verl stops at start-up with a missing mandatory value.",
        "Set {rollout_engine.key}=vllm (or sglang).",
        {"rollout_engine": "vllm"},
    )
