"""Arguments that TRL's command line refuses or drops, although each of them looks right."""

from __future__ import annotations

from ..configs.adapters.trl_arguments import BARE, LAUNCH_ONLY
from ..configs.keys import KeyTable, load
from ..configs.run_config import RunConfig, Setting
from ..configs.values import Unresolved
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome

# Options of `accelerate launch` that people give to `trl grpo`; the rest of its options never meet there
_LAUNCH_OPTIONS = (*LAUNCH_ONLY, "num_processes", "num_machines", "main_process_port", "mixed_precision", "gpu_ids")


def bare_switch(run: RunConfig) -> Outcome:
    """A switch whose default is null takes a value: `--bf16 true`."""
    if not _command(run):
        return NOT_APPLICABLE
    table = load(
        "trl", ["RLOOConfig" if run.value("adv_estimator") == "rloo" else "GRPOConfig"], run.versions.get("trl")
    )
    for name, setting in run.native.items():
        if setting.note == BARE and _nullable_switch(table, name):
            return Hit(
                _field(run, name),
                f"{setting.key} stands without a value, but its default is null, so the parser expects one: the "
                "command stops with `expected one argument`.",
                f"Write {setting.key} true.",
            )
    return PASS


def _nullable_switch(table: KeyTable, name: str) -> bool:
    """A switch that is null until the user or `__post_init__` sets it."""
    if not table.exists(name) or table.type(name) != "bool":
        return False
    default = table.default(name)
    return default is None or isinstance(default, Unresolved)


def launch_options_reach_accelerate(run: RunConfig) -> Outcome:
    """Before 0.29.0 `trl grpo` did not hand options on to accelerate."""
    given = _launch_options(run)
    if not _command(run) or "trl" not in run.versions:
        return NOT_APPLICABLE
    if not given:
        return PASS
    names = ", ".join(setting.key for setting in given)
    return Hit(
        "world_size" if any("num_processes" in setting.key for setting in given) else "sharding_backend",
        f"{names}: `trl grpo` starts accelerate with its default config in this release and does not hand these on.",
        "Start it as `accelerate launch ... -m trl.scripts.grpo ...`, or use TRL 0.29.0 or later.",
    )


def _launch_options(run: RunConfig) -> list[Setting]:
    return [setting for name, setting in run.native.items() if name in _LAUNCH_OPTIONS and ":" not in name]


def _command(run: RunConfig) -> bool:
    return str(run.value("program") or "") in ("trl grpo", "trl rloo")


def _field(run: RunConfig, name: str) -> str:
    """The canonical field that a native name sets, for the place in the report."""
    key = run.native[name].key
    return next((field for field, setting in run.settings.items() if setting.key == key), "")
