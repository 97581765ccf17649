"""What LLaMA-Factory refuses when it starts (hparams/parser.py)."""

from __future__ import annotations

from ..configs.run_config import RunConfig, Setting
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome, Unknown

# Switches that ZeRO-3 does not go with, and those that DeepSpeed does not go with at all
_NOT_WITH_ZERO3 = ("pure_bf16", "use_unsloth", "pissa_init", "predict_with_generate")
_NOT_WITH_DEEPSPEED = ("use_galore", "use_apollo")


def switches_go_with_deepspeed(run: RunConfig) -> Outcome:
    """Switches that are refused beside a ds_config, or beside one of stage 3."""
    if run.value("sharding_backend") != "deepspeed":
        return NOT_APPLICABLE
    galore = _on(run, _NOT_WITH_DEEPSPEED)
    if galore is not None:
        return _refused(galore, run.native.get("deepspeed"), "DeepSpeed")
    found = _on(run, _NOT_WITH_ZERO3)
    if found is None:
        return PASS
    stage = run.settings.get("zero_stage")
    if stage is None or not stage.known:
        return Unknown(frozenset(["zero_stage"]))
    return _refused(found, run.native.get("deepspeed"), "ZeRO-3") if stage.value == 3 else PASS


def _on(run: RunConfig, names: tuple[str, ...]) -> Setting | None:
    return next((run.native[name] for name in names if name in run.native and run.native[name].value is True), None)


def _refused(setting: Setting, config: Setting | None, engine: str) -> Hit:
    beside = f" ({config.key}={config.value})" if config is not None else ""
    return Hit(
        "zero_stage",
        f"{setting.key} is on beside {engine}{beside}: LLaMA-Factory stops at start-up.",
        f"Set {setting.key}: false, or take another sharding.",
    )
