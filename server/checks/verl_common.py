"""What the checks of verl share: which code runs, what is open, and small arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from ..configs.adapters.common import whole
from ..configs.run_config import DEFAULT, RunConfig
from ..configs.values import Unresolved
from ..store.versions import in_range
from .outcome import NOT_APPLICABLE, Hit, Outcome, Pass, Unknown

LEGACY, UNIFIED = "legacy", "unified"
RANKED_BACKENDS = ("fsdp", "fsdp2", "megatron")


# verl's own entry points; they run its start-up checks (validate_config)
_STOCK_PROGRAMS = ("verl.trainer.main_ppo", "verl.trainer.main_ppo_v0", "verl.trainer.main_ppo_sync")
_ASYNC_PROGRAMS = ("fully_async", "one_step_off")


def starts_from_stock(run: RunConfig) -> bool:
    """Whether one of verl's own entry points starts the run (a config file alone is taken as meant for one)."""
    program = _module(run)
    return not program or program.endswith(_STOCK_PROGRAMS)


def rollout_has_own_gpus(run: RunConfig) -> bool:
    """Asynchronous recipes and trainer modes, in which trainer and rollout do not share GPUs."""
    if run.value("trainer_mode") == "separate_async" or any(name in _module(run) for name in _ASYNC_PROGRAMS):
        return True
    own = ("async_training.", "rollout.")
    return run.value("train_batch_prompts") == 0 or any(key.startswith(own) for key in run.native)


def _module(run: RunConfig) -> str:
    return str(run.value("program", "")).replace("/", ".").removesuffix(".py")


def generations(run: RunConfig) -> list[str]:
    """The trainer generations that may run: one when the version is known."""
    version = run.versions.get("verl")
    if run.value("sharding_backend") not in RANKED_BACKENDS:
        return [UNIFIED]
    if version is None:
        return [LEGACY, UNIFIED]
    legacy = in_range(version, "<0.8.0") and run.value("use_legacy_worker") != "disable"
    return [LEGACY] if legacy else [UNIFIED]


def by_generation(run: RunConfig, legacy: Callable[[], Outcome], unified: Callable[[], Outcome]) -> Outcome:
    """The answer that all possible generations agree on, else unknown for want of the version."""
    checks = {LEGACY: legacy, UNIFIED: unified}
    outcomes = [checks[name]() for name in generations(run)]
    if len({type(outcome) for outcome in outcomes}) > 1 and any(isinstance(outcome, Hit) for outcome in outcomes):
        return Unknown(frozenset(["verl_version"]))
    return worst(outcomes)


def worst(outcomes: list[Outcome]) -> Outcome:
    """A hit before an unknown before a pass; not applicable only when all are."""
    for kind in (Hit, Unknown, Pass):
        for outcome in outcomes:
            if isinstance(outcome, kind):
                return outcome
    return outcomes[0] if outcomes else NOT_APPLICABLE


def open_question(run: RunConfig, *names: str) -> Unknown | None:
    """Unknown with the fields that are missing or unresolved, None when all are known."""
    missing = {name for name in names if name not in run.settings or isinstance(run.settings[name].value, Unresolved)}
    sizes = {"world_size", "data_parallel_size"} & missing
    if sizes:
        parts = {"n_gpus", "nnodes"} if "world_size" not in run.settings else {"data_parallel_size"}
        unresolved = {name for name in parts if name in run.settings and not run.settings[name].known}
        missing = (missing - sizes) | (unresolved or parts)
    return Unknown(frozenset(missing)) if missing else None


def number(run: RunConfig, name: str) -> int | None:
    """A field as whole number, None when it is none or not known."""
    return whole(run.value(name))


def default_note(run: RunConfig, name: str) -> str:
    """Says after a value that nobody wrote it."""
    setting = run.settings[name]
    return f" (the default of {setting.version})" if setting.origin == DEFAULT else ""


def next_multiple(size: int, step: int) -> int:
    """The smallest multiple of `step` that is not below `size`."""
    return -(-size // step) * step


def head_divisor(size: int, at_most: int) -> int:
    """The largest power of two that divides `size` and is not above `at_most`: attention heads divide by it, too."""
    power = 1
    while size % (power * 2) == 0 and power * 2 <= at_most:
        power *= 2
    return power


def gpus(count: int) -> str:
    """ "1 GPU", "8 GPUs"."""
    return f"{count} GPU" if count == 1 else f"{count} GPUs"
