"""DeepSpeed: a ds_config JSON, alone or with the launch that names it.

`apply` is also what the TRL and accelerate adapters use, for a JSON handed to the HF Trainer and for the ds_config that
accelerate builds from its own options. "auto" stands for a value that the HF Trainer fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...store.index import adapter as adapter_data
from ...store.versions import in_range
from ..keys import MISSING, KeyTable, load
from ..parts import Part
from ..run_config import DEFAULT, RunConfig, Setting, UnknownKey
from ..values import Unresolved
from . import launchers
from .common import Options, apply_options, dtype, explicit_settings, left_open, product, start_run, whole

AUTO = "auto"
Fill = Callable[[str], Any]
"""Key of ds_config whose value is "auto" -> what takes its place (`Unresolved` when that is not known)."""

_SIGNS = {
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_clipping", "fp16", "bf16", "bfloat16", "scheduler",
    "steps_per_print", "zero_allow_untested_optimizer", "wall_clock_breakdown", "activation_checkpointing", "aio",
}  # fmt: skip
_SECTIONS = {"fp16", "bf16", "bfloat16", "scheduler", "activation_checkpointing", "aio"}  # switches elsewhere
_CONFIG_FLAGS = ("--deepspeed_config", "--deepspeed-config", "--ds_config", "--deepspeed")
_REMARK_KEYS = ("_", "comment", "//", "#")
# Names of optimizers that DeepSpeed replaces by its CPU version when optimizer states are offloaded
_ADAM = ("adam", "adamw")


def claims(part: Part) -> int:
    """A JSON with zero_optimization or several other keys of ds_config; the `deepspeed` launcher less surely."""
    if is_config(part):
        return 90 if "zero_optimization" in part.data else 70
    if part.program == "deepspeed":
        return 30
    return 25 if part.last("--deepspeed_config") is not None else 0


def is_config(part: Part) -> bool:
    """Whether a data file is a ds_config."""
    if part.format not in ("json", "yaml") or not isinstance(part.data, dict):
        return False
    blocks = (part.data.get("zero_optimization"), part.data.get("autotuning"))
    signs = [key for key in _SIGNS & part.data.keys() if key not in _SECTIONS or isinstance(part.data[key], dict)]
    return any(isinstance(block, dict | bool) for block in blocks) or len(signs) >= 2


def build(parts: list[Part], options: Options) -> RunConfig:
    """A run from a ds_config and the launch around it, if there is one."""
    run = start_run("deepspeed", parts, options)
    table = load("deepspeed", ["ds_config"], options.versions.get("deepspeed"))
    run.notes += [table.note] if table.note else []
    config = find_config(parts, options)
    launchers.record(run, launchers.world_size(parts))
    if config is None:
        run.keys |= {name: _keys(name)[0] for name in adapter_data("deepspeed")["fields"]}
        run.notes.append("no ds_config was found: settings made in code are not known")
    else:
        run.sources += start_run("deepspeed", [part for part in [config] if part not in parts], options).sources
        run.native = explicit_settings(config.entries, run.lints)
        apply(run, settings_of(config), table)
        judge_keys(run, config, table)
    run.derive("sharding_backend", "deepspeed", "a ds_config or the deepspeed launcher", "zero_optimization.stage")
    run.keys.setdefault("torch_compile", "torch_compile")
    apply_options(run, options)
    derive_batch(run)
    return run


def find_config(parts: Iterable[Part], options: Options) -> Part | None:
    """The ds_config among the parts, else the file that the launch names."""
    parts = list(parts)
    found = next((part for part in parts if is_config(part)), None)
    if found is not None or options.load is None:
        return found
    for part in parts:
        for flag in _CONFIG_FLAGS:
            entry = part.last(flag)
            if entry is not None and isinstance(entry.value, str):
                return next((item for item in options.load(entry.value, part.path) if is_config(item)), None)
    return None


def settings_of(config: Part) -> dict[str, Setting]:
    """The user's settings of a ds_config by key; the deprecated forms are read as what they mean."""
    found = explicit_settings(config.entries, [])
    for key in [key for key in found if key.startswith("bfloat16.")]:
        found.setdefault("bf16." + key.removeprefix("bfloat16."), found[key])
    for old, new in (("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param")):
        setting = found.get(f"zero_optimization.{old}")
        if setting is not None and setting.value is True:
            found.setdefault(f"zero_optimization.{new}.device", replace(setting, value="cpu"))
    whole_block = found.get("zero_optimization")
    if whole_block is not None and isinstance(whole_block.value, bool):
        found["zero_optimization.stage"] = replace(whole_block, value=int(whole_block.value))
    return found


def apply(
    run: RunConfig,
    settings: Mapping[str, Setting],
    table: KeyTable,
    fill: Fill | None = None,
    keep: Iterable[str] = (),
) -> None:
    """Set the run's canonical fields from a ds_config.

    settings: key -> what the user wrote. fill: what replaces "auto"; None = the config is alone, so it stays open and
    names the HF argument that would fill it. keep: fields that belong to the trainer and are left as they are.
    """
    fill = fill or unfilled
    kept = set(keep)
    for name in adapter_data("deepspeed")["fields"]:
        if name not in kept:
            _set_field(run, name, settings, table, fill)
    _derive_zero(run, settings, table)


def unfilled(key: str) -> Any:
    """An "auto" that nothing in the input fills: open, naming the HF argument that would."""
    return Unresolved(AUTO, tuple(adapter_data("deepspeed")["filled_by"].get(key, ())))


def _keys(name: str) -> list[str]:
    keys = adapter_data("deepspeed")["fields"][name]
    return [keys] if isinstance(keys, str) else list(keys)


def _set_field(run: RunConfig, name: str, settings: Mapping[str, Setting], table: KeyTable, fill: Fill) -> None:
    keys = _keys(name)
    run.keys[name] = next((key for key in keys if table.known(key)), keys[0])
    key, setting = next(((key, settings[key]) for key in keys if key in settings), (keys[0], None))
    if setting is not None and setting.value == AUTO and key not in adapter_data("deepspeed")["filled_by"]:
        setting = None  # DeepSpeed's config models drop "auto": the default holds
    if setting is not None:
        value = fill(key) if setting.value == AUTO else setting.value
        run.keys[name] = setting.key
        run.settings[name] = replace(setting, field=name, value=value)
        return
    default = table.default(key) if table.known(key) else MISSING
    if default is not MISSING:
        version = f"deepspeed {table.version}"
        run.settings[name] = Setting(name, run.keys[name], default, DEFAULT, version=version)


def _derive_zero(run: RunConfig, settings: Mapping[str, Setting], table: KeyTable) -> None:
    stage = run.value("zero_stage")
    overlap = run.settings.get("overlap_comm")
    if overlap is not None and (overlap.value is None or (overlap.origin == DEFAULT and not overlap.known)):
        known = whole(stage) is not None
        overlap.value = stage == 3 if known else Unresolved("", ("zero_optimization.stage",))
        overlap.note = "unset: true for stage 3, false below"
    for name in ("offload_optimizer", "offload_param"):
        device = run.settings.get(name)
        if device is not None and device.value in ("none", False):
            device.value = None
    if not any(run.settings[name].value for name in ("offload_optimizer", "offload_param") if name in run.settings):
        run.settings.pop("pin_memory", None)
    _derive_optimizer(run, settings)
    _derive_accumulation_dtype(run, table)


def _derive_accumulation_dtype(run: RunConfig, table: KeyTable) -> None:
    """One spelling; unset it is the model's dtype (fp32 for bf16 without ZeRO before 0.17.6)."""
    setting = run.settings.get("grad_accum_dtype")
    if setting is None:
        return
    setting.value = dtype(setting.value)
    bf16, fp16 = run.value("bf16"), run.value("fp16")
    if setting.origin != DEFAULT or bf16 is None or fp16 is None or run.value("zero_stage") is None:
        return
    plain = bf16 and run.value("zero_stage") == 0 and in_range(table.version, "<0.17.6")
    setting.value = "float32" if plain or not (bf16 or fp16) else "bfloat16" if bf16 else "float16"
    setting.note = "unset: the dtype of the model"


def _derive_optimizer(run: RunConfig, settings: Mapping[str, Setting]) -> None:
    """Lower-case name; Adam becomes DeepSpeed's CPU Adam when its states are offloaded."""
    optimizer = run.settings.get("optimizer")
    if optimizer is None or not isinstance(optimizer.value, str):
        run.settings["optimizer"] = Setting("optimizer", "optimizer.type", Unresolved("", ("optimizer.type",)), DEFAULT)
        return
    optimizer.value = optimizer.value.lower()
    torch_adam = settings.get("optimizer.params.torch_adam")
    if optimizer.value in _ADAM and run.value("offload_optimizer") and not (torch_adam and torch_adam.value is True):
        optimizer.value, optimizer.note = "cpu_adam", "Adam with offloaded optimizer states"


def derive_batch(run: RunConfig) -> None:
    """The missing one of batch size, micro-batch and accumulation, as DeepSpeedConfig computes it."""
    world = whole(run.value("world_size"))
    parallel = whole(run.value("sequence_parallel")) or 1
    if world is None or world % parallel:
        return
    run.derive(
        "data_parallel_size", world // parallel, "world size over sequence parallel size", run.key_of("world_size")
    )
    ranks = world // parallel
    names = ("train_batch_samples", "micro_batch_per_gpu", "gradient_accumulation")
    batch, micro, steps = (whole(run.value(name)) for name in names)
    if batch is None and run.value("train_batch_samples") is None and micro:
        steps = steps if steps is not None else 1 if left_open(run.settings.get("gradient_accumulation")) else None
        run.derive("train_batch_samples", product(micro, steps, ranks), "micro-batch x accumulation x ranks")
    elif batch and micro and steps is None and left_open(run.settings.get("gradient_accumulation")):
        run.derive("gradient_accumulation", batch // micro // ranks, "batch over micro-batch and ranks")
    elif batch and micro is None and left_open(run.settings.get("micro_batch_per_gpu")):
        run.derive("micro_batch_per_gpu", batch // ranks // (steps or 1), "batch over ranks and accumulation")


def judge_keys(run: RunConfig, config: Part, table: KeyTable) -> None:
    """Keys that DeepSpeed refuses (inside its config models) or silently ignores (anywhere else).

    Without a stated version only a key that no release knows is told.
    """
    judged: set[str] = set()
    for entry in config.entries:
        key = _unknown_part(entry.key, table)
        if not key or key in judged or key.startswith(_REMARK_KEYS) or isinstance(entry.value, Unresolved):
            continue
        judged.add(key)
        if not table.exact and table.lifecycle(key) is not None:
            continue
        reason, refused = table.explain_unknown(key), table.rejects_unknown(key)
        note = reason.note if refused else f"{reason.note}; DeepSpeed ignores it silently"
        near = list(reason.did_you_mean)
        fatal = refused and table.exact
        run.unknown_keys.append(UnknownKey(key, entry.file, entry.line, near, note, fatal, reason.new_name))


def _unknown_part(key: str, table: KeyTable) -> str:
    """The section or key that is not known, from the outside in; "" when all of it is."""
    parts = key.split(".")
    prefixes = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next((prefix for prefix in prefixes if not table.known(prefix)), "")


def batch(run: RunConfig) -> dict[str, Any]:
    """Batch table of a ds_config."""
    ranks, micro = whole(run.value("data_parallel_size")), whole(run.value("micro_batch_per_gpu"))
    steps, samples = whole(run.value("gradient_accumulation")), whole(run.value("train_batch_samples"))
    table: dict[str, Any] = {}
    formula: dict[str, str] = {}
    if samples is not None:
        table["samples_per_optimizer_step"] = samples
    if steps is not None:
        table["micro_steps"] = steps
    if product(ranks, micro, steps) is not None and product(ranks, micro, steps) == samples:
        formula["samples_per_optimizer_step"] = f"{micro} x {steps} x {ranks}"
        table["samples_per_gpu"] = product(micro, steps)
        formula["samples_per_gpu"] = f"{micro} x {steps}"
    return {**table, "formula": formula} if formula else table
