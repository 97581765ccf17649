"""ms-swift: `swift rlhf`, `swift sft`, `megatron rlhf`, `swift rollout` with flags or YAML.

The arguments have their own dataclasses with defaults of their own (ms_swift_defaults.py); launchers, DeepSpeed and the
batch arithmetic are those of TRL, on which GRPO is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..keys_data import key_data
from ..parts import Part
from ..run_config import EXPLICIT, RunConfig, Setting
from . import hf_arguments, launchers, ms_swift_defaults, recognised, trl, trl_launch
from .common import Options, apply_options, derive_moe, explicit_settings, fill, start_run
from .engine_arguments import take_handed_on
from .hf_arguments import Given
from .native import Names, judge_choices
from .trl_arguments import Arguments, as_dict

claims = recognised.claims
_PROGRAMS = re.compile(r"^swift |^megatron |swift[./]cli[./]|swift[./]megatron")
_SECTIONS = ("train.", "rollout.", "teacher.", "device_groups.")  # of a YAML for Ray
_KIND = re.compile(r"(?:^swift |^megatron |cli[./](?:_megatron[./])?)(rlhf|sft|pt|rollout)")


def build(parts: list[Part], options: Options) -> RunConfig:
    """A run from the command's arguments and the launch around it."""
    options = hf_arguments.with_version_of(options, "ms-swift", "swift")
    run = start_run("ms-swift", parts, options)
    program = hf_arguments.trainer_of(parts, _PROGRAMS)
    kind = _kind(program, parts)
    if not kind:
        return _not_a_trainer(run, parts, options)
    table = _table(kind, options)
    given = hf_arguments.read(parts, program, table, options, run)
    mode = _read_ray(run, given, table)
    run.native = given.rest | given.settings
    run.notes += [note for note in (table.note, table.below.note if table.below else "") if note]
    _partial(run, program, given)
    _fill(run, kind, given, table)
    if mode is not None:
        run.set_explicit_like("rollout_mode", mode, mode.value)
    ignore = run.native.get("ignore_args_error")
    hf_arguments.judge(run, given.rest, table, stops=ignore is None or ignore.value is not True)
    names = Names(table, "ms-swift", flags=False)
    judge_choices(run, given.settings, names, options.versions.get("ms-swift"))
    _engine(run)
    ms_swift_defaults.apply(run, kind, table)
    _launch(run, parts, kind, options)
    apply_options(run, options)
    ms_swift_defaults.sizes(run, kind, table)
    derive_moe(run)
    apply_options(run, options)
    return run


def _not_a_trainer(run: RunConfig, parts: list[Part], options: Options) -> RunConfig:
    run.native = explicit_settings((entry for part in parts for entry in part.entries), run.lints)
    run.notes.append("neither training nor a rollout server: its settings are not checked")
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Batch table: TRL's; under Megatron a micro-batch is that of a data-parallel rank."""
    return trl.batch(run)


def _kind(program: Part | None, parts: list[Part]) -> str:
    """rlhf, sft, rollout, megatron_rlhf, or "" for any other command; a file alone is told by Megatron's keys."""
    if program is not None:
        found = _KIND.search(program.program.removesuffix(".py"))
        if program.program and not found:
            return ""
        kind = {"pt": "sft"}.get(found[1], found[1]) if found else "rlhf"
        return "megatron_rlhf" if "megatron" in program.program and kind != "rollout" else kind
    keys = {entry.key.lstrip("-") for part in parts for entry in part.entries}
    return "megatron_rlhf" if keys & {"tensor_model_parallel_size", "global_batch_size", "micro_batch_size"} else "rlhf"


def _table(kind: str, options: Options) -> KeyTable:
    below = None
    if kind in ("rlhf", "sft"):
        below = load("transformers", ["TrainingArguments"], options.versions.get("transformers"))
    return load("ms-swift", [kind], options.versions.get("ms-swift"), below)


def _read_ray(run: RunConfig, given: Given, table: KeyTable) -> Setting | None:
    """A YAML for Ray has a section for each group of workers; `train` and `rollout` are settings of the run.

    Gives the mode of the rollout: groups that share their GPUs are colocated.
    """
    given.rest.pop("config", None)
    groups = given.rest.pop("colocate_groups", None)
    inside = {key: given.rest.pop(key) for key in list(given.rest) if key.startswith(_SECTIONS)}
    for section in ("train.", "rollout."):
        found = {key.removeprefix(section): item for key, item in inside.items() if key.startswith(section)}
        gpus = found.pop("gpus", None)
        if gpus is not None and section == "train.":
            run.set_explicit_like("world_size", gpus, gpus.value)
        hf_arguments.add(given, found, table)
    place = groups or next((item for key, item in inside.items() if key.startswith("rollout.")), None)
    if place is None:
        return None
    together = groups is not None and all(role in str(groups.value) for role in ("train", "rollout"))
    return replace(place, value="colocate" if together else "separate")


def _engine(run: RunConfig) -> None:
    """Arguments of vLLM itself, a JSON text or a mapping."""
    written = run.native.get("vllm_engine_kwargs")
    mapping = None if written is None else written.value
    if isinstance(mapping, str):
        mapping = as_dict(mapping)
    if written is None or not isinstance(mapping, dict):
        return
    given = {str(name): replace(written, key=f"{written.key}.{name}", value=item) for name, item in mapping.items()}
    take_handed_on(run, "vllm", given)


def _partial(run: RunConfig, program: Part | None, given: Given) -> None:
    if program is None and not {"model", "model_id_or_path", "load"} & given.settings.keys():
        run.partial = "only a part of the run was given"


def _fill(run: RunConfig, kind: str, given: Given, table: KeyTable) -> None:
    data = adapter_data("ms-swift")
    fields = {"megatron_rlhf": data["megatron_fields"], "rollout": data["rollout_fields"]}.get(kind, data["fields"])
    fill(run, fields, table, f"ms-swift {table.version}", defaults_known=given.complete)
    hf_arguments.label_below(run, table)
    if given.flags:
        hf_arguments.as_flags(run)


def _launch(run: RunConfig, parts: list[Part], kind: str, options: Options) -> None:
    """Processes, sharding and DeepSpeed. Without a launcher swift starts torchrun by NPROC_PER_NODE."""
    if kind == "rollout":
        return
    if launchers.world_size(parts) is None and not any(part.program == "accelerate launch" for part in parts):
        size = hf_arguments.processes_of_environment(run)
        launchers.record(run, size)
        run.keys.setdefault("world_size", "NPROC_PER_NODE")
    if kind == "megatron_rlhf":
        launchers.record(run, launchers.world_size(parts))
        run.derive("sharding_backend", "megatron", "the Megatron trainer")
        return
    shipped = _shipped(run)
    split = run.settings.get("sequence_parallel")
    trl_launch.apply(run, parts, Arguments("script", run.native), options, shipped)
    if split is not None:
        run.settings["sequence_parallel"] = split  # ms-swift's own, not DeepSpeed's
        run.keys["sequence_parallel"] = split.key
    _world_size_key(run)
    _sharding(run)


def _world_size_key(run: RunConfig) -> None:
    size = run.settings.get("world_size")
    if size is not None and size.key == "--num_processes" and not size.known:
        run.settings["world_size"] = hf_arguments.open_setting("world_size", "NPROC_PER_NODE")
        run.keys["world_size"] = "NPROC_PER_NODE"


def _sharding(run: RunConfig) -> None:
    """`--fsdp` always means FSDP2; without it and without DeepSpeed the processes are data-parallel replicas."""
    fsdp = run.native.get("fsdp")
    if fsdp is not None and fsdp.value:
        run.set_explicit_like("sharding_backend", fsdp, "fsdp2")
        run.set_explicit_like("fsdp_version", fsdp, 2)
        run.derive("zero_stage", 0, "sharding by fsdp2, not DeepSpeed", fsdp.key)
        return
    hf_arguments.replicas_without_config(run)


def _shipped(run: RunConfig) -> Mapping[str, dict[str, Setting]]:
    """The ds_configs that ship with ms-swift (`--deepspeed zero2`), at the run's version."""
    named = run.native.get("deepspeed")
    if named is None or f"ds_{named.value}" not in key_data("ms-swift").tables:
        return {}
    table = load("ms-swift", [f"ds_{named.value}"], run.versions.get("ms-swift"))
    note = f"in ms-swift's {named.value}.json"
    settings = {
        key: Setting(key, key, table.declared(key), EXPLICIT, named.file, named.line, note=note) for key in table
    }
    return {str(named.value): settings}
