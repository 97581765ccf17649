"""AReaL: what its configuration classes refuse, and what its allocation must satisfy."""

from __future__ import annotations

from ..configs.adapters.areal import parse_allocation, world_size
from ..configs.run_config import RunConfig
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome
from .startup import first_clash
from .verl_common import open_question

_STOPS = "AReaL stops at start-up."


def allocation_is_possible(run: RunConfig) -> Outcome:
    """FSDP has no pipeline or expert parallelism, and expert groups must tile the trainer's GPUs."""
    texts = [run.settings[name] for name in ("trainer_backend", "allocation") if name in run.settings]
    chosen = next((text for text in texts if text.value), None)
    if chosen is None:
        return NOT_APPLICABLE
    if missing := open_question(run, chosen.field):
        return missing
    pieces = parse_allocation(chosen.value) if isinstance(chosen.value, str) else []
    for backend, sizes in pieces:
        if backend == "fsdp" and (sizes.get("p", 1) > 1 or sizes.get("e", 1) > 1):
            return Hit(
                chosen.field,
                f"{{{chosen.field}.key}}={chosen.value}: FSDP has neither pipeline nor expert parallelism; {_STOPS}",
                "Use megatron, or leave p and e at 1.",
            )
        grid = sizes.get("p", 1) * sizes.get("et", 1) * sizes.get("e", 1)
        world = world_size(sizes)
        if sizes.get("e", 1) > 1 and world % grid:
            text = f"{{{chosen.field}.key}}={chosen.value}: an expert grid of {grid} does not divide {world} GPUs"
            return Hit(chosen.field, f"{text}; {_STOPS}", "Choose an expert parallel size that divides the GPUs.")
    return PASS if pieces else NOT_APPLICABLE


def losses_go_together(run: RunConfig) -> Outcome:
    """SAPO and CISPO exclude each other and some of the other settings of the loss."""
    names = [name for name in ("sapo", "cispo") if name in run.settings]
    if missing := open_question(run, *names):
        return missing
    if not any(run.value(name) is True for name in names):
        return NOT_APPLICABLE
    sapo = (
        [
            (
                ("rollout_is",),
                lambda value: value is True,
                "rollout_is",
                "{sapo.key} does not go with {rollout_is.key}; AReaL stops at start-up (before 1.0.1 in a step).",
                "Set {rollout_is.key}=false.",
                {"rollout_is": False},
            ),
            (
                ("cispo",),
                lambda value: value is True,
                "cispo",
                f"{{cispo.key}} and {{sapo.key}} exclude each other; {_STOPS}",
                "Keep one of the two.",
                {"sapo": False},
            ),
        ]
        if run.value("sapo") is True
        else []
    )
    cispo = (
        [
            (
                ("clip_ratio_high",),
                lambda value: not isinstance(value, int | float) or value <= 0,
                "clip_ratio_high",
                f"{{cispo.key}} needs {{clip_ratio_high.key}} above 0; {_STOPS}",
                "Set {clip_ratio_high.key}, such as 4.0.",
                {},
            ),
            (
                ("importance_sampling_level",),
                lambda value: value != "token",
                "importance_sampling_level",
                "{cispo.key} works on tokens, but {importance_sampling_level.key} is {importance_sampling_level}; "
                f"{_STOPS}",
                "Set {importance_sampling_level.key}=token.",
                {"importance_sampling_level": "token"},
            ),
        ]
        if run.value("cispo") is True
        else []
    )
    return first_clash(run, [*sapo, *cispo])
