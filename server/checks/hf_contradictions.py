"""Contradictions between the files of one run: trainer arguments, accelerate's config, a ds_config.

transformers compares a ds_config with the arguments (HfTrainerDeepSpeedConfig.fill_match) and stops before the first
step when they differ; accelerate refuses options of its own beside a ds_config file.
"""

from __future__ import annotations

from typing import Any

from ..configs.adapters.accelerate import FILE_EXCLUDES
from ..configs.run_config import DEFAULT, RunConfig, Setting
from ..configs.values import Unresolved
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome, Unknown
from .trl_batch import open_fields

_AUTO = "auto"


def micro_batch(run: RunConfig) -> Outcome:
    """train_micro_batch_size_per_gpu against per_device_train_batch_size."""
    return _mismatch(run, "train_micro_batch_size_per_gpu", "micro_batch_per_gpu")


def train_batch(run: RunConfig) -> Outcome:
    """train_batch_size against the product of the arguments."""
    return _mismatch(run, "train_batch_size", "train_batch_samples")


def accumulation(run: RunConfig) -> Outcome:
    """gradient_accumulation_steps in both; a ds_config that accelerate reads counts as 1 without it."""
    key, named = "gradient_accumulation_steps", run.native.get("accelerate:deepspeed_config_file")
    read_by_accelerate = named is not None and not _handed_to_trainer(run) and _uses_ds_config(run)
    if not read_by_accelerate or f"deepspeed:{key}" in run.native or named is None:
        return _mismatch(run, key, "gradient_accumulation")
    implied = Setting(key, key, 1, DEFAULT, str(named.value), note="unset counts as 1")
    return _compare(run, implied, "gradient_accumulation")


def clipping(run: RunConfig) -> Outcome:
    """gradient_clipping against max_grad_norm."""
    return _mismatch(run, "gradient_clipping", "grad_clip_ignored")


def learning_rate(run: RunConfig) -> Outcome:
    """optimizer.params.lr against learning_rate."""
    return _mismatch(run, "optimizer.params.lr", "learning_rate")


def weight_decay(run: RunConfig) -> Outcome:
    """optimizer.params.weight_decay against weight_decay."""
    return _mismatch(run, "optimizer.params.weight_decay", "weight_decay")


def ds_precision(run: RunConfig) -> Outcome:
    """bf16 and fp16 of the ds_config in force against the arguments."""
    if not _uses_ds_config(run):
        return NOT_APPLICABLE
    open_question: Outcome = PASS
    for name in ("bf16", "fp16"):
        engine = _engine_precision(run, name)
        if isinstance(engine, Unknown):
            open_question = engine
        elif engine is not None and engine.value != run.value(name):
            return _contradiction(run, engine, name)
    return open_question


def _engine_precision(run: RunConfig, name: str) -> Setting | Unknown | None:
    """What the engine has for one precision before it is compared; None when nothing is compared."""
    stated = run.native.get(f"deepspeed:{name}.enabled")
    if stated is not None and isinstance(stated.value, bool):
        return open_fields(run, name) or stated
    told = run.native.get("accelerate:mixed_precision")
    if _handed_to_trainer(run) or told is None:
        return None  # "auto" and absent blocks follow the arguments
    if missing := open_fields(run, "bf16", "fp16"):
        return missing
    if run.value("bf16") or run.value("fp16"):
        return None  # the arguments decide what accelerate fills in
    return Setting(name, told.key, told.value == name, told.origin, told.file, told.line)


def mixed_precision(run: RunConfig) -> Outcome:
    """accelerate's mixed_precision against bf16 and fp16 of the arguments, where no ds_config is compared."""
    told = run.native.get("accelerate:mixed_precision")
    if told is None or _uses_ds_config(run) or told.value not in ("bf16", "fp16"):
        return NOT_APPLICABLE
    if missing := open_fields(run, "bf16", "fp16"):
        return missing
    asked = "fp16" if run.value("fp16") else "bf16" if run.value("bf16") else ""
    if asked == told.value:
        return PASS
    if not asked and run.settings[str(told.value)].origin == DEFAULT:
        return PASS  # left to accelerate on purpose
    field = asked or str(told.value)
    effect = f"the arguments win and training runs in {asked}" if asked else f"training still runs in {told.value}"
    return Hit(
        field,
        f"{_shown(told)}, but {_shown(run.settings[field])}: {effect}.",
        f"Set {told.key} to {asked or 'no'} as well." if asked else f"Set {told.key}: 'no', or {{{field}.key}}=true.",
    )


def options_beside_ds_config(run: RunConfig) -> Outcome:
    """accelerate's own DeepSpeed options (and mixed_precision) in its config beside a ds_config file."""
    if run.value("sharding_backend") != "deepspeed":
        return NOT_APPLICABLE
    file = run.native.get("deepspeed") or _accelerate(run, "deepspeed_config_file")
    kind = _accelerate(run, "distributed_type")
    if file is None or kind is None or str(kind.value).upper() != "DEEPSPEED":
        return NOT_APPLICABLE
    found = [
        setting for name in FILE_EXCLUDES if (setting := _accelerate(run, name)) and not setting.key.startswith("-")
    ]
    if not found:
        return PASS
    first = found[0]
    names = ", ".join(setting.key for setting in found)
    return Hit(
        "zero_stage",
        f"{names} ({first.file} line {first.line}) beside the ds_config {file.value} ({file.key}): accelerate stops at "
        "start-up (the variables would be ignored).",
        f"Remove {names} from {first.file}; they belong into {file.value}.",
    )


def clipping_passed_on(run: RunConfig) -> Outcome:
    """Under DeepSpeed max_grad_norm acts only through `"gradient_clipping": "auto"`."""
    if not _uses_ds_config(run) or "deepspeed:gradient_clipping" in run.native:
        return NOT_APPLICABLE
    asked, acts = run.settings.get("grad_clip_ignored"), run.settings.get("grad_clip")
    if asked is None or acts is None:
        return NOT_APPLICABLE
    if missing := open_fields(run, "grad_clip_ignored"):
        return missing
    if asked.value == acts.value or not asked.value:
        return PASS
    what = "does not clip" if acts.value == 0 else f"clips at {acts.value}"
    return Hit(
        "grad_clip_ignored",
        f"{asked.key}={asked.value} has no effect: the ds_config sets no gradient_clipping, so DeepSpeed {what} "
        f"(default of {acts.version}) and the trainer leaves clipping to it.",
        'Add "gradient_clipping": "auto" to the ds_config.',
    )


# -- shared --


def _uses_ds_config(run: RunConfig) -> bool:
    return any(key.startswith("deepspeed:") for key in run.native)


def _handed_to_trainer(run: RunConfig) -> bool:
    """Whether the ds_config comes from the `deepspeed` argument and not from accelerate."""
    return any(key == "deepspeed" or key.startswith("deepspeed.") for key in run.native)


def _accelerate(run: RunConfig, name: str) -> Setting | None:
    """An option of accelerate's; in a run of accelerate alone they stand under their own names."""
    return run.native.get(name if run.framework == "accelerate" else f"accelerate:{name}")


def _mismatch(run: RunConfig, ds_key: str, field: str) -> Outcome:
    stated = run.native.get(f"deepspeed:{ds_key}")
    if stated is None or stated.value in (None, _AUTO):
        return NOT_APPLICABLE
    return _compare(run, stated, field)


def _compare(run: RunConfig, stated: Setting, field: str) -> Outcome:
    if isinstance(stated.value, Unresolved):
        return Unknown(frozenset(stated.value.names or (stated.key,)))
    if field == "train_batch_samples":
        parts = ("micro_batch_per_gpu", "gradient_accumulation", "world_size")
        if missing := open_fields(run, *parts):
            return missing
    if missing := open_fields(run, field):
        return missing
    return PASS if run.value(field) == stated.value else _contradiction(run, stated, field)


def _contradiction(run: RunConfig, stated: Setting, field: str) -> Hit:
    asked = run.settings[field]
    where = 'Set it to "auto"' if stated.file.endswith((".json", ".jsonc")) else f"Remove {stated.key}"
    place = f" in {stated.file}" if stated.file and stated.file != asked.file else ""
    return Hit(
        field,
        f"{_shown(stated)}, but {_shown(asked)}: transformers stops before the first step (DeepSpeed config values "
        "that mismatch TrainingArguments).",
        f"{where}{place}, or give both the same value.",
    )


def _shown(setting: Setting) -> str:
    place = f" ({setting.file} line {setting.line})" if setting.file and setting.line else f" ({setting.file})"
    if not setting.file:
        place = f" ({setting.note or 'the default of ' + setting.version})" if setting.note or setting.version else ""
    elif setting.note == "unset counts as 1":
        place = f" ({setting.file}, where it is unset)"
    return f"{setting.key}={_text(setting.value)}{place}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
