"""FSDP settings of accelerate that one of the two FSDP versions refuses or never reads."""

from __future__ import annotations

from ..configs.adapters.accelerate import as_bool
from ..configs.run_config import RunConfig, Setting
from ..configs.values import Unresolved
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome

_KEY = "fsdp_reshard_after_forward"


def fsdp2_reshard_is_boolean(run: RunConfig) -> Outcome:
    """FSDP2 reads fsdp_reshard_after_forward as true or false; a strategy of FSDP1 is a ValueError."""
    if run.value("sharding_backend") != "fsdp2":
        return NOT_APPLICABLE
    setting = _option(run, _KEY)
    if setting is None or isinstance(setting.value, Unresolved) or isinstance(as_bool(setting.value), bool | int):
        return PASS
    keep = str(setting.value).upper() in ("SHARD_GRAD_OP", "NO_SHARD")
    return Hit(
        "reshard_after_forward",
        f"{setting.key}={setting.value} is a strategy of FSDP1; FSDP2 takes true or false and stops at start-up "
        "(invalid truth value).",
        f"Set {setting.key}: {'false' if keep else 'true'}.",
        {"reshard_after_forward": not keep},
    )


def fsdp1_reads_strategy(run: RunConfig) -> Outcome:
    """With FSDP1 `accelerate launch` always passes fsdp_sharding_strategy, so the other key is never read."""
    if run.value("sharding_backend") != "fsdp":
        return NOT_APPLICABLE
    setting, strategy = _option(run, _KEY), _option(run, "fsdp_sharding_strategy")
    if setting is None or isinstance(setting.value, Unresolved):
        return NOT_APPLICABLE
    used = strategy.value if strategy is not None else "FULL_SHARD"
    if as_bool(setting.value) is True or str(setting.value).upper() == str(used).upper():
        return PASS
    return Hit(
        "reshard_after_forward",
        f"{setting.key}={setting.value} has no effect with FSDP1: the launcher passes fsdp_sharding_strategy, here "
        f"{used}.",
        f"Set fsdp_sharding_strategy: {setting.value} instead, or fsdp_version: 2 with a true or false.",
    )


def _option(run: RunConfig, name: str) -> Setting | None:
    return run.native.get(name if run.framework == "accelerate" else f"accelerate:{name}")
