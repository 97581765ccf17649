"""What stands around a TRL trainer: accelerate, torchrun or deepspeed, and the ds_config in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...store.index import adapter as adapter_data
from ...store.versions import in_range
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting
from ..values import Unresolved
from . import accelerate, deepspeed, launchers, trl_arguments
from .common import Options, product, start_run
from .trl_arguments import Arguments

# Fields of the ds_config that the trainer's arguments decide
_TRAINER_FIELDS = (
    "micro_batch_per_gpu", "gradient_accumulation", "train_batch_samples", "learning_rate", "weight_decay", "bf16",
    "fp16", "grad_clip",
)  # fmt: skip


Shipped = Mapping[str, dict[str, Setting]]
"""ds_configs that a framework ships under a short name (`--deepspeed zero2`)."""


def apply(
    run: RunConfig, parts: list[Part], arguments: Arguments, options: Options, shipped: Shipped | None = None
) -> None:
    """World size, sharding and DeepSpeed, from accelerate, torchrun, deepspeed and the arguments themselves."""
    extra = _handed_on(run, arguments, options)
    launch = accelerate.read(parts, options, extra)
    launch = _named_config(launch, extra, parts, options)
    accelerate.add_sources(run, launch, parts)
    uses_accelerate = launch.launcher is not None or launch.config is not None or bool(extra)
    if uses_accelerate:
        accelerate.judge_keys(run, launch, load("accelerate", ["config"], options.versions.get("accelerate")))
        accelerate.apply(run, launch, options)
        _mixed_precision(run, launch)
    else:
        _sharding_without_accelerate(run, parts)
    size = launchers.world_size(parts)
    if size is not None:
        launchers.record(run, size)
    elif "world_size" not in run.settings:
        _world_size_open(run, arguments)
    ds_settings, ds_part = _ds_config(run, parts, launch, options, shipped or {})
    for name, setting in launch.options.items():
        run.native.setdefault(f"accelerate:{name}", setting)
    for key, setting in (ds_settings or {}).items():
        run.native.setdefault(f"deepspeed:{key}", setting)
    if ds_settings is not None or run.value("sharding_backend") == "deepspeed":
        _deepspeed(run, ds_settings, ds_part, options)
    _autocast(run)


def _handed_on(run: RunConfig, arguments: Arguments, options: Options) -> dict[str, Setting]:
    """What the TRL command hands on to `accelerate launch`: from 0.29.0 on everything it does not know itself."""
    version = options.versions.get("trl")
    if arguments.reader not in ("trl", "file") or (version is not None and in_range(version, "<0.29.0")):
        return {}
    known = load("accelerate", ["launch"], options.versions.get("accelerate"))
    return {
        name: item for name, item in arguments.rest.items() if name in trl_arguments.LAUNCH_ONLY or known.known(name)
    }


def _named_config(
    launch: accelerate.Launch, extra: Mapping[str, Setting], parts: list[Part], options: Options
) -> accelerate.Launch:
    """The config that `--accelerate_config` names: one that ships with TRL, or a file."""
    named = extra.get("accelerate_config")
    if named is None or not isinstance(named.value, str):
        return launch
    shipped = adapter_data("trl")["accelerate_configs"].get(named.value)
    if shipped is None:
        return accelerate.read(parts, options, {**extra, "config_file": named})
    launch.options = {**_shipped_options(shipped, named), **launch.options}
    if accelerate.backend(launch) == "deepspeed":
        launch.ds_settings = accelerate.built_ds_config(launch)
    return launch


def _shipped_options(shipped: Mapping[str, Any], named: Setting) -> dict[str, Setting]:
    note = f"in TRL's {named.value}.yaml"
    return {
        key.rpartition(".")[2]: Setting(key, key, value, EXPLICIT, named.file, named.line, note=note)
        for key, value in shipped.items()
    }


def _world_size_open(run: RunConfig, arguments: Arguments) -> None:
    key = "--num_processes" if arguments.reader in ("trl", "script") else "num_processes"
    run.keys["world_size"] = key
    run.settings["world_size"] = Setting("world_size", key, Unresolved("", (key,)), DEFAULT)


def _sharding_without_accelerate(run: RunConfig, parts: list[Part]) -> None:
    fsdp = run.native.get("fsdp")
    if fsdp is not None and fsdp.value not in ("", None, False, []):
        version = next(
            (run.native[key].value for key in ("fsdp_config.version", "fsdp_config.fsdp_version") if key in run.native),
            1,
        )
        run.set_explicit_like("sharding_backend", fsdp, "fsdp2" if str(version) == "2" else "fsdp")
        run.set_explicit_like("fsdp_version", fsdp, 2 if str(version) == "2" else 1)
    elif any(part.program in ("torchrun", "deepspeed") for part in parts):
        run.derive("sharding_backend", "ddp", "torchrun or deepspeed without a ds_config", "deepspeed")
    else:
        value = Unresolved("", ("accelerate config",))
        dropped = run.native.get("accelerate_config") or run.native.get("config_file")  # see the rule on launch options
        place = dropped or Setting("sharding_backend", "deepspeed", value, DEFAULT)
        run.settings["sharding_backend"] = replace(place, field="sharding_backend", value=value)
    kind = run.settings["sharding_backend"]
    if kind.known:
        run.derive("zero_stage", 0, f"sharding by {kind.value}, not DeepSpeed", kind.key)
    else:
        run.settings["zero_stage"] = replace(kind, field="zero_stage")


def _mixed_precision(run: RunConfig, launch: accelerate.Launch) -> None:
    """The precision that accelerate was told, which counts where the arguments ask for none."""
    setting = accelerate.mixed_precision(launch)
    if setting is not None and isinstance(setting.value, str):
        run.native["accelerate:mixed_precision"] = replace(setting, value=setting.value.lower())


def _autocast(run: RunConfig) -> None:
    told = run.native.get("accelerate:mixed_precision")
    names = {"bf16": "bfloat16", "fp16": "float16", "no": "float32"}
    if run.value("fp16") is True:
        run.set_explicit_like("autocast_dtype", run.settings["fp16"], "float16")
    elif run.value("bf16") is True:
        run.set_explicit_like("autocast_dtype", run.settings["bf16"], "bfloat16")
    elif run.value("bf16") is False and told is not None and isinstance(told.value, str):
        run.set_explicit_like("autocast_dtype", told, names.get(told.value, told.value))


def _ds_config(
    run: RunConfig, parts: list[Part], launch: accelerate.Launch, options: Options, shipped: Shipped
) -> tuple[dict[str, Setting] | None, Part | None]:
    """The ds_config in force: of the `deepspeed` argument, else accelerate's, else one that stands among the parts."""
    inline = {key.removeprefix("deepspeed."): item for key, item in run.native.items() if key.startswith("deepspeed.")}
    if inline:
        return inline, None
    among = [part for part in parts if deepspeed.is_config(part)]
    named = run.native.get("deepspeed")
    if named is not None and isinstance(named.value, str) and named.value:
        if named.value in shipped:
            run.derive("sharding_backend", "deepspeed", "the deepspeed argument", named.key)
            return shipped[named.value], None
        tail = named.value.rsplit("/", 1)[-1]
        loaded = options.load(named.value, named.file) if options.load is not None else []
        candidates = [part for part in among if part.path.rsplit("/", 1)[-1] == tail]
        candidates += [part for part in loaded if deepspeed.is_config(part)] + among
        run.derive("sharding_backend", "deepspeed", "the deepspeed argument", named.key)
        if not candidates:
            run.notes.append(f"{named.value}: not found, so what the ds_config sets is not known")
            return None, None
        return _with_source(run, candidates[0], parts)
    if launch.ds_settings is not None:
        return launch.ds_settings, launch.ds_file
    if among and (launch.config is None or accelerate.backend(launch) == "deepspeed"):
        run.derive("sharding_backend", "deepspeed", f"{among[0].path} is part of the run", "deepspeed")
        return _with_source(run, among[0], parts)
    return None, None


def _with_source(run: RunConfig, part: Part, parts: list[Part]) -> tuple[dict[str, Setting], Part]:
    if part not in parts:
        run.sources += start_run("trl", [part], Options()).sources
        run.lints += part.lints
    return deepspeed.settings_of(part), part


def _deepspeed(run: RunConfig, settings: dict[str, Setting] | None, part: Part | None, options: Options) -> None:
    """Engine fields from the ds_config; the trainer's own stay, except the clipping, which DeepSpeed does."""
    table = load("deepspeed", ["ds_config"], options.versions.get("deepspeed"))
    run.notes += [table.note] if table.note else []
    if settings is None:
        open_value = Unresolved("", ("ds_config",))
        for name in ("zero_stage", "grad_clip"):
            run.settings[name] = Setting(name, run.key_of(name), open_value, DEFAULT)
        return
    if part is not None:
        deepspeed.judge_keys(run, part, table)
    own_optimizer = "optimizer.type" in settings
    keep = _TRAINER_FIELDS if own_optimizer else (*_TRAINER_FIELDS, "optimizer")
    kept_keys = {name: run.keys.get(name, name) for name in keep}
    deepspeed.apply(run, settings, table, _filler(run), keep)
    run.keys.update(kept_keys)
    _clipping(run, settings, table)


def _filler(run: RunConfig) -> deepspeed.Fill:
    fields = {
        "per_device_train_batch_size": "micro_batch_per_gpu",
        "gradient_accumulation_steps": "gradient_accumulation",
        "max_grad_norm": "grad_clip",
    }

    def fill_in(key: str) -> Any:
        names = adapter_data("deepspeed")["filled_by"].get(key, [])
        values = [run.value(fields.get(name, name)) for name in names]
        if len(values) == 1 and values[0] is not None:
            return values[0]
        if len(values) > 1 and product(*values) is not None:
            return product(*values)
        return deepspeed.unfilled(key)

    return fill_in


def _clipping(run: RunConfig, settings: Mapping[str, Setting], table: KeyTable) -> None:
    """Under DeepSpeed the engine clips by its own setting; max_grad_norm gets there only through "auto"."""
    stated, asked = settings.get("gradient_clipping"), run.settings.get("grad_clip")
    if stated is not None and stated.value == deepspeed.AUTO:
        return
    if asked is not None:
        run.settings["grad_clip_ignored"] = replace(asked, field="grad_clip_ignored")
        run.keys["grad_clip_ignored"] = asked.key
    run.keys["grad_clip"] = "gradient_clipping"
    if stated is not None:
        run.settings["grad_clip"] = replace(stated, field="grad_clip")
    else:
        default, version = table.default("gradient_clipping"), f"deepspeed {table.version}"
        run.settings["grad_clip"] = Setting("grad_clip", "gradient_clipping", default, DEFAULT, version=version)
