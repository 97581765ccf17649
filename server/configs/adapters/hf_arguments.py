"""Arguments of trainers that read them with transformers' HfArgumentParser: ms-swift, LLaMA-Factory.

Flags, a config file that the command names, and the environment variables that start the processes. trl_arguments.py
has the rules of that parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..keys import KeyTable
from ..parts import Part
from ..run_config import DEFAULT, DERIVED, EXPLICIT, RunConfig, Setting, SourceFile, UnknownKey
from ..values import Unresolved
from . import accelerate, deepspeed
from .common import Options, explicit_settings, product, whole
from .trl_arguments import flag_settings, is_trainer, typed

_CONFIG_NAME = re.compile(r"\.(ya?ml|json)$")
_ENV_BLOCKS = ("env.", "ENV.")


@dataclass(slots=True)
class Given:
    """What the user wrote, by the table's names; `rest` is what the table does not know.

    complete: false when a config file that the command names was not found. flags: written on a command line.
    """

    settings: dict[str, Setting] = field(default_factory=dict)
    rest: dict[str, Setting] = field(default_factory=dict)
    complete: bool = True
    flags: bool = False


def with_version_of(options: Options, package: str, *names: str) -> Options:
    """Options in which a version given under another name of the framework is that of its package."""
    found = next((options.versions[name] for name in names if name in options.versions), None)
    if found is None or package in options.versions:
        return options
    return replace(options, versions={**options.versions, package: found})


def trainer_of(parts: Iterable[Part], programs: re.Pattern[str]) -> Part | None:
    """The part that starts the trainer itself, behind its launcher."""
    shell = [part for part in parts if part.format == "shell" and is_trainer(part)]
    return next((part for part in shell if programs.search(part.program)), shell[0] if shell else None)


def read(parts: Iterable[Part], program: Part | None, table: KeyTable, options: Options, run: RunConfig) -> Given:
    """Arguments of a run: its config file first, what was typed wins. Notes a config file that was not found."""
    parts = list(parts)
    given = Given(flags=program is not None)
    files = config_files(parts, program, options, run)
    given.complete = bool(files) or not _named(program)[0]
    for file in files:
        add(given, file_settings(file, run), table)
    if program is not None:
        add(given, flag_settings(program, table, run.lints), table)
    return given


def file_settings(part: Part, run: RunConfig) -> dict[str, Setting]:
    """Settings of a config file; its block of environment variables goes to the run's environment."""
    found = explicit_settings(part.entries, [])
    for key in [key for key in found if key.startswith(_ENV_BLOCKS)]:
        setting = found.pop(key)
        name = key.partition(".")[2]
        value = setting.value if isinstance(setting.value, str | Unresolved) else str(setting.value)
        run.env.setdefault(name, replace(setting, field=f"env.{name}", key=name, value=value))
    return found


def add_overrides(given: Given, program: Part | None, table: KeyTable, run: RunConfig) -> None:
    """`key=value` words behind a config file, which some programs merge into it."""
    if program is not None:
        words = [entry for entry in program.entries if not entry.key.startswith("-")]
        add(given, explicit_settings(words, run.lints), table)


def config_files(parts: list[Part], program: Part | None, options: Options, run: RunConfig) -> list[Part]:
    """The trainer's YAML or JSON: what the command names, else those among the parts; [] when it is not found."""
    among = [
        part
        for part in parts
        if part.format in ("yaml", "json") and not accelerate.is_config(part) and not deepspeed.is_config(part)
    ]
    name, naming_file = _named(program)
    if not name:
        return among
    tail = name.rsplit("/", 1)[-1]
    same = [part for part in among if part.path.rsplit("/", 1)[-1] == tail]
    if same or among:
        return same or among
    loaded = options.load(name, naming_file) if options.load is not None else []
    if not loaded:
        run.notes.append(f"{name}: not found, so unset arguments have unknown values")
    for part in loaded:
        run.sources.append(SourceFile(part.path, part.format, len(part.entries)))
        run.lints += part.lints
    return loaded


def _named(program: Part | None) -> tuple[str, str]:
    """The config file that a command names: its first word, or behind --config."""
    if program is None:
        return "", ""
    told = program.last("--config")
    if told is not None and isinstance(told.value, str):
        return told.value, told.file
    word = program.positional[0] if program.positional else None
    if word is not None and word.known and _CONFIG_NAME.search(word.text):
        return word.text, word.file
    return "", ""


def add(given: Given, settings: Mapping[str, Setting], table: KeyTable) -> None:
    """Sorts settings into known ones, with values of the declared types, and the rest."""
    for name, setting in settings.items():
        known = table.canonical(name) or name
        if not table.known(name):
            given.rest[name] = setting
            continue
        value = setting.value
        if isinstance(value, str):
            value = typed(value, value, table.type(known))  # the parser converts text, too
        given.settings[known] = replace(setting, field=known, value=value)


def open_setting(name: str, key: str, missing: str = "") -> Setting:
    """A default that only `missing` (its own key when none is named) decides."""
    return Setting(name, key, Unresolved("", (missing or key,)), DEFAULT)


def as_flags(run: RunConfig) -> None:
    """Unset fields of a launch are named as the flag that would set them."""
    for name, key in run.keys.items():
        setting = run.settings.get(name)
        if key.startswith("-") or (setting is not None and setting.origin == EXPLICIT):
            continue
        run.keys[name] = f"--{key}"
        if setting is not None:
            run.settings[name] = replace(setting, key=f"--{key}")


def label_below(run: RunConfig, table: KeyTable) -> None:
    """Defaults that come from the table below are named after its package."""
    below = table.below
    for name, setting in run.settings.items():
        key = setting.key
        if setting.origin == DEFAULT and below and below.exists(key) and below.default(key) == table.default(key):
            run.settings[name] = replace(setting, version=f"{below.package} {below.version}")


def judge(run: RunConfig, rest: Mapping[str, Setting], table: KeyTable, stops: bool) -> None:
    """Names that the parser does not know, into `run.unknown_keys`. stops: whether it ends the run on them."""
    for name, setting in rest.items():
        reason = table.explain_unknown(name)
        ever = table.lifecycle(name) is not None
        exact = table.exact and (table.below is None or table.below.exact or table.below.lifecycle(name) is None)
        if ever and not exact:
            continue
        dashes = "--" if setting.key.startswith("-") else ""
        meant = [dashes + similar for similar in reason.did_you_mean]
        fatal, new_name = exact and stops, reason.new_name and dashes + reason.new_name
        run.unknown_keys.append(
            UnknownKey(setting.key, setting.file, setting.line, meant, reason.note, fatal, new_name)
        )


def replicas_without_config(run: RunConfig) -> None:
    """Started by torchrun without DeepSpeed, FSDP or accelerate, the processes are data-parallel replicas."""
    setting = run.settings.get("sharding_backend")
    told = "deepspeed" in run.native or any(key.startswith("accelerate:") for key in run.native)
    if setting is not None and not setting.known and not told:
        run.derive("sharding_backend", "ddp", "neither deepspeed nor fsdp is set", "deepspeed")
        run.derive("zero_stage", 0, "no DeepSpeed", "deepspeed")


def processes_of_environment(run: RunConfig) -> Setting | None:
    """World size from NPROC_PER_NODE and NNODES, which such trainers hand on to torchrun; None when neither is set.

    One visible GPU is one process.
    """
    per_node, nodes = run.env.get("NPROC_PER_NODE"), run.env.get("NNODES")
    if per_node is None and nodes is None:
        return _single(run)
    each, many = _number(per_node), _number(nodes) if nodes is not None else 1
    missing = "NPROC_PER_NODE" if each is None else "NNODES"
    total = product(each, many)
    place = per_node or nodes
    assert place is not None
    value: Any = total if total else Unresolved("", (missing,))
    return Setting("world_size", place.key, value, DERIVED, place.file, place.line, note="NPROC_PER_NODE x NNODES")


def _single(run: RunConfig) -> Setting | None:
    visible = visible_devices(run)
    if visible is None or len(visible) != 1:
        return None
    place = run.env["CUDA_VISIBLE_DEVICES"]
    return Setting("world_size", place.key, 1, DERIVED, place.file, place.line, note="one visible GPU")


def visible_devices(run: RunConfig) -> list[str] | None:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves; None when it is not set or not known."""
    setting = run.env.get("CUDA_VISIBLE_DEVICES")
    if setting is None or not isinstance(setting.value, str) or not setting.value.strip():
        return None
    return [device for device in setting.value.split(",") if device.strip()]


def _number(setting: Setting | None) -> int | None:
    if setting is None or not isinstance(setting.value, str):
        return None
    text = setting.value.strip()
    return whole(int(text)) if text.isdecimal() and len(text) < 10 else None
