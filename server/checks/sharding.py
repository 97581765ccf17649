"""Sharding engines that exclude each other: DeepSpeed beside FSDP."""

from __future__ import annotations

from ..configs.run_config import RunConfig, Setting
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome

_ACCELERATE_SWITCHES = ("accelerate:use_deepspeed", "accelerate:use_fsdp")
_FLAT_ENGINES = ("fsdp_mode", "training_backend", "actor.strategy")
_OFF: tuple[object, ...] = ("", None, False, [], "false", "False")


def two_engines(run: RunConfig) -> Outcome:
    """A run trains with one engine: Hit when the settings name two, NOT_APPLICABLE when they name none."""
    if run.framework == "seed":
        return _flat(run)
    pairs = (("deepspeed", "fsdp"), _ACCELERATE_SWITCHES, ("use_deepspeed", "use_fsdp"))
    found = [tuple(_given(run, key) for key in pair) for pair in pairs]
    for deepspeed, fsdp in found:
        if deepspeed is not None and fsdp is not None:
            names = f"{deepspeed.key} and {fsdp.key}"
            return Hit(
                "sharding_backend",
                f"{names} ask for DeepSpeed and FSDP at once; the launch stops with an error.",
                f"Keep one of {names}.",
            )
    return PASS if any(setting is not None for pair in found for setting in pair) else NOT_APPLICABLE


def _given(run: RunConfig, key: str) -> Setting | None:
    """A setting that the user switched on."""
    setting = run.native.get(key)
    return setting if setting is not None and setting.known and setting.value not in _OFF else None


def _flat(run: RunConfig) -> Outcome:
    """The flat format's zero_stage (DeepSpeed) beside its fsdp_mode or a backend by name."""
    stage = run.native.get("zero_stage")
    other = next((run.native[key] for key in _FLAT_ENGINES if key in run.native), None)
    if stage is None or other is None or not run.value("zero_stage"):
        return NOT_APPLICABLE
    if str(other.value).lower() == "deepspeed":
        return PASS
    return Hit(
        "zero_stage",
        f"{stage.key}={stage.value} is DeepSpeed's and {other.key}={other.value} is not: a run has one sharding engine "
        "only. verl has none of DeepSpeed's, so there the stage and its CPU Adam mean nothing.",
        f"Keep {other.key} for verl, or {stage.key} for a trainer on DeepSpeed (TRL, OpenRLHF, ms-swift).",
    )
