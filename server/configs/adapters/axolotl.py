"""axolotl: the YAML of `axolotl train` with `rl: grpo`.

axolotl makes TRL's GRPOConfig from its YAML. The run is therefore TRL's view of these settings, at the TRL release that
the axolotl release pins, under axolotl's own keys and with axolotl's defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import MISSING, KeyTable, load
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting, UnknownKey
from ..values import Entry, Unresolved
from . import hf_arguments, recognised, trl
from .common import Options, apply_options, explicit_settings, start_run

claims = recognised.claims
_PROGRAMS = re.compile(r"^axolotl |axolotl[./]cli")
_LAUNCHERS = ("accelerate launch", "torchrun", "deepspeed")
_PROCESSES = {"--num-processes", "--num_processes", "--nproc_per_node", "--nproc-per-node"}
_ADAPTERS = ("lora", "qlora")
_PINNED = ("trl", "transformers", "accelerate")  # packages whose exact version a release fixes


@dataclass(slots=True)
class _Mirror:
    """TRL's arguments as axolotl would hand them on: entries for TRL's reader, and the key behind each."""

    entries: list[Entry] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)  # TRL's argument -> axolotl's key
    defaults: set[str] = field(default_factory=set)  # arguments that only a default of axolotl sets

    def add(self, name: str, setting: Setting | None, key: str, value: Any) -> None:
        file, line = (setting.file, setting.line) if setting is not None else ("", 0)
        self.entries.append(Entry(name, value, file, line))
        self.keys[name] = setting.key if setting is not None else key
        if setting is None:
            self.defaults.add(name)


def build(parts: list[Part], options: Options) -> RunConfig:
    """A run from the YAML and the launch around it."""
    version = options.versions.get("axolotl")
    table = load("axolotl", ["config", "plugins", "requires"], version)
    own = start_run("axolotl", parts, options)
    given = _given(parts, own, options)
    versions = _versions(options, own)
    kind = given["rl"].value if "rl" in given else None
    if kind not in ("grpo", "gdpo"):
        return _other(own, given, table, version, options, kind)
    mirror = _mirrored(given, table)
    launch = [
        part for part in parts if part.program in _LAUNCHERS or (part.format in ("yaml", "json") and _foreign(part))
    ]
    run = trl.build(
        [Part("yaml", _path(parts), entries=mirror.entries, data={}), *launch], replace(options, versions=versions)
    )
    _take_over(run, own, given, mirror, versions, table)
    _own_fields(run, given, table, parts)
    _judge(run, given, table, version)
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Batch table as TRL computes it."""
    return trl.batch(run)


# -- what is written --


def _given(parts: list[Part], run: RunConfig, options: Options) -> dict[str, Setting]:
    """The YAML's settings by dotted key, those on the command line last."""
    program = hf_arguments.trainer_of(parts, _PROGRAMS)
    found: dict[str, Setting] = {}
    for file in hf_arguments.config_files(parts, program, options, run):
        found |= explicit_settings(file.entries, run.lints)
    flags = [] if program is None else [entry for entry in program.entries if entry.key.startswith("--")]
    for key, setting in explicit_settings(flags, run.lints).items():
        name = key.lstrip("-").replace("-", "_")
        if key not in _PROCESSES and name != "launcher":
            found[name] = replace(setting, field=name)
    return found


def _foreign(part: Part) -> bool:
    from . import accelerate, deepspeed

    return accelerate.is_config(part) or deepspeed.is_config(part)


def _path(parts: Sequence[Part]) -> str:
    return next((part.path for part in parts if part.format in ("yaml", "json")), parts[0].path if parts else "")


def _versions(options: Options, run: RunConfig) -> dict[str, str]:
    """The caller's versions, and those of TRL, transformers and accelerate that the release pins."""
    versions = dict(options.versions)
    if "axolotl" not in versions:
        return versions
    table = load("axolotl", ["requires"], versions["axolotl"])
    for package in _PINNED:
        pin = table.default(package)
        if package not in versions and isinstance(pin, str) and pin.startswith("=="):
            versions[package] = pin.removeprefix("==")
    if "trl" not in options.versions and "trl" in versions:
        run.notes.append(f"TRL {versions['trl']}: the version that axolotl {table.version} installs")
    return versions


# -- TRL's view --


def _mirrored(given: Mapping[str, Setting], table: KeyTable) -> _Mirror:
    data = adapter_data("axolotl")
    mirror = _Mirror()
    vllm = _value(given, table, "trl.use_vllm") is True
    mode = _value(given, table, "trl.vllm_mode") or "server"
    names = dict(data["mirrored"])
    if vllm and mode == "colocate":
        names |= data["colocated"]
    if _value(given, table, "trl.sync_ref_model") is not True:
        names = {name: key for name, key in names.items() if name not in data["synchronised"]}
    for name, keys in names.items():
        _hand_on(mirror, name, [keys] if isinstance(keys, str) else keys, given, table)
    if vllm and not any(entry.key == "vllm_mode" for entry in mirror.entries) and table.known("trl.vllm_mode"):
        mirror.add("vllm_mode", None, "trl.vllm_mode", "server")
    _precision(mirror, given, table)
    _adapter(mirror, given)
    _evaluation(mirror, given, table)
    _sharding(mirror, given, table)
    recompute = given.get("gradient_checkpointing")
    value = recompute.value if recompute is not None else False
    on = value if isinstance(value, Unresolved) else value not in (False, None)
    mirror.add("gradient_checkpointing", recompute, "gradient_checkpointing", on)
    for key in (key for key in given if key.startswith("gradient_checkpointing_kwargs")):
        mirror.add(key, given[key], key, given[key].value)
    if given["rl"].value == "gdpo" and "multi_objective_aggregation" not in mirror.keys:
        mirror.add("multi_objective_aggregation", given["rl"], "rl", "normalize_then_sum")
    return mirror


def _hand_on(mirror: _Mirror, name: str, keys: Sequence[str], given: Mapping[str, Setting], table: KeyTable) -> None:
    known = [key for key in keys if table.known(key)]  # pydantic drops the others
    written = next((given[key] for key in known if key in given and given[key].value is not None), None)
    if written is not None:
        mirror.add(name, written, written.key, written.value)
        return
    mirror.keys[name] = keys[0]
    default = table.resolved_default(keys[0]) if table.known(keys[0]) else None
    if default is not MISSING and default is not None and not isinstance(default, Unresolved):
        mirror.add(name, None, keys[0], default)


def _value(given: Mapping[str, Setting], table: KeyTable, key: str) -> Any:
    if key in given:
        return given[key].value
    default = table.resolved_default(key) if table.known(key) else None
    return None if default is MISSING else default


def _precision(mirror: _Mirror, given: Mapping[str, Setting], table: KeyTable) -> None:
    """bf16: true, full or auto (by the hardware); the model is loaded in the same precision."""
    setting = next((given[key] for key in ("bf16", "bfloat16") if key in given), None)
    value = _value(given, table, "bf16") if setting is None else setting.value
    half = _value(given, table, "fp16") or _value(given, table, "load_in_8bit")
    if isinstance(value, Unresolved) or value == "auto":
        on: Any = Unresolved("auto", ("bf16",))
        loaded: Any = Unresolved("auto", ("bf16",))
    else:
        on = value in (True, "full")
        loaded = "bfloat16" if on else "float16" if half is True else "float32"
    mirror.add("bf16", setting, "bf16", on)
    mirror.add("dtype", setting, "bf16", loaded)


def _adapter(mirror: _Mirror, given: Mapping[str, Setting]) -> None:
    kind = given.get("adapter")
    value = kind.value if kind is not None else None
    mirror.add("use_peft", kind, "adapter", value if isinstance(value, Unresolved) else value in _ADAPTERS)


def _evaluation(mirror: _Mirror, given: Mapping[str, Setting], table: KeyTable) -> None:
    """Without data for it there is no evaluation, whatever is asked for."""
    data = [_value(given, table, key) for key in ("val_set_size", "test_datasets")]
    asked = given.get("eval_strategy")
    if not any(data):
        mirror.add("eval_strategy", None, "val_set_size", "no")
    elif "eval_steps" in given or "evals_per_epoch" in given:
        mirror.add("eval_strategy", given.get("eval_steps") or given["evals_per_epoch"], "eval_steps", "steps")
    else:
        mirror.add("eval_strategy", asked, "eval_strategy", asked.value if asked is not None else "epoch")


def _sharding(mirror: _Mirror, given: Mapping[str, Setting], table: KeyTable) -> None:
    """FSDP is on with `fsdp:` or, where that key is gone, with any `fsdp_config:`."""
    place = next((item for key, item in given.items() if key == "fsdp" or key.startswith("fsdp_config")), None)
    if place is None or not place.value:
        return
    version = _value(given, table, "fsdp_version") or _value(given, table, "fsdp_config.fsdp_version") or 1
    mirror.add("fsdp", place, "fsdp", "full_shard")
    mirror.add("fsdp_config.version", given.get("fsdp_version"), "fsdp_version", version)


# -- back under axolotl's keys --


def _take_over(
    run: RunConfig,
    own: RunConfig,
    given: Mapping[str, Setting],
    mirror: _Mirror,
    versions: dict[str, str],
    table: KeyTable,
) -> None:
    """Places, notes and keys of the user's own files; axolotl's defaults as defaults."""
    label = f"axolotl {table.version}"
    for setting in run.settings.values():
        if setting.key in mirror.defaults and setting.origin == EXPLICIT:
            setting.origin, setting.version = DEFAULT, label
        setting.key = mirror.keys.get(setting.key, setting.key)
    for name, setting in run.native.items():
        if name in mirror.defaults:
            setting.origin, setting.version = DEFAULT, label
        setting.key = mirror.keys.get(setting.key, setting.key)
    run.keys = {name: mirror.keys.get(key, key) for name, key in run.keys.items()}
    trl_notes = [note for note in run.notes if not note.startswith("no trl version")]
    run.framework, run.line, run.weight, run.versions = "axolotl", own.line, own.weight, versions
    run.sources = own.sources + [source for source in run.sources if source.format != "yaml"]
    run.env, run.assumptions = own.env, own.assumptions
    run.lints, run.notes = own.lints, own.notes + ([table.note] if table.note else []) + trl_notes
    run.unknown_keys = []
    run.partial = "" if "base_model" in given else "only a part of the run was given"
    for name in ("program", "open_files"):
        if name in own.settings:
            run.settings[name] = own.settings[name]


def _own_fields(run: RunConfig, given: Mapping[str, Setting], table: KeyTable, parts: Iterable[Part]) -> None:
    for name, keys in adapter_data("axolotl")["own"].items():
        names = [keys] if isinstance(keys, str) else keys
        written = next((given[key] for key in names if key in given), None)
        run.keys[name] = names[0]
        if written is not None:
            run.set_explicit_like(name, written, written.value)
    size = run.settings.get("world_size")
    if size is not None and size.known:
        return
    flags = (entry for part in parts if part.format == "shell" for entry in part.entries if entry.key in _PROCESSES)
    told = next(flags, None)
    if told is not None:
        run.settings["world_size"] = Setting("world_size", told.key, told.value, EXPLICIT, told.file, told.line)


def _other(
    run: RunConfig,
    given: Mapping[str, Setting],
    table: KeyTable,
    version: str | None,
    options: Options,
    kind: Any,
) -> RunConfig:
    """Not an online trainer: only the names of the keys are checked."""
    run.native = dict(given)
    if not any(note.endswith("unset arguments have unknown values") for note in run.notes):
        what = f"rl: {kind}" if kind else "no `rl: grpo`"
        run.notes.append(f"{what}: not a GRPO run, so only the names of its keys are checked")
    run.notes += [table.note] if table.note else []
    _judge(run, given, table, version)
    apply_options(run, options)
    return run


def _judge(run: RunConfig, given: Mapping[str, Setting], table: KeyTable, version: str | None) -> None:
    """Keys that no model of axolotl's has: pydantic drops them silently. Other people's plugins may add keys."""
    plugins = given.get("plugins")
    if plugins is not None and not _only_own(plugins.value):
        return
    exact = version is not None and table.exact
    for key, setting in given.items():
        if (
            setting.value is None
            or table.known(key)
            or _inside_list(key)
            or (not exact and table.lifecycle(key) is not None)
        ):
            continue
        reason = table.explain_unknown(key)
        note = f"{reason.note}; axolotl ignores it silently"
        run.unknown_keys.append(UnknownKey(setting.key, setting.file, setting.line, list(reason.did_you_mean), note))


def _only_own(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return all(isinstance(name, str) and name.startswith("axolotl.") for name in names)


def _inside_list(key: str) -> bool:
    return any(part.isdecimal() for part in key.split("."))
