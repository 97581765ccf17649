"""TRL's arguments, wherever they are written: flags, the YAML of `--config`, keyword arguments in Python.

All three fill the same dataclasses (GRPOConfig over TrainingArguments, ModelConfig, script arguments). Flags follow
HfArgumentParser: dashes or underscores throughout, `--no_x` for a switch that is on by default, unique prefixes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ...store.versions import in_range
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import EXPLICIT, RunConfig, Setting, UnknownKey
from ..values import Lint, Unresolved
from .common import Options, explicit_settings

BARE = "flag without a value"
_CONFIG_CALLS = ("GRPOConfig", "RLOOConfig", "ModelConfig", "ScriptArguments", "GRPOScriptArguments")
_TRUE, _FALSE, _NONE = ("yes", "true", "t", "y", "1"), ("no", "false", "f", "n", "0"), ("none", "null")
_LORA = {"r": "lora_r", "lora_alpha": "lora_alpha", "target_modules": "lora_target_modules", "use_dora": "use_dora"}
_TABLES = {
    "grpo": ("GRPOConfig", "GRPOScriptArguments", "ModelConfig", "DatasetMixtureConfig", "cli"),
    "rloo": ("RLOOConfig", "RLOOScriptArguments", "ModelConfig", "DatasetMixtureConfig", "cli"),
}
_SINCE = {"DatasetMixtureConfig": ">=0.22.0", "RLOOScriptArguments": ">=0.22.0"}
# What a run hands on to `accelerate launch`; judged against that table
LAUNCH_ONLY = ("accelerate_config", "config_file")


@dataclass(slots=True)
class Arguments:
    """What the user wrote for the trainer, by field name.

    reader: who parses it: "trl" (the TRL command), "script" (a script of the user's), "file" (a YAML whose script is
    not known), "python" (calls in code). rest: what is no field of the dataclasses, by name.
    """

    reader: str
    settings: dict[str, Setting] = field(default_factory=dict)
    rest: dict[str, Setting] = field(default_factory=dict)
    complete: bool = True  # false: a --config that was not found, or `**kwargs` in a call
    partial: str = ""  # why what is unset need not have its default


def tables(kind: str, options: Options) -> KeyTable:
    """The dataclasses of a trainer ("grpo" or "rloo") at the stated versions; TrainingArguments for any other one."""
    below = load("transformers", ["TrainingArguments"], options.versions.get("transformers"))
    if kind not in _TABLES:
        return below
    version = options.versions.get("trl")
    names = [name for name in _TABLES[kind] if version is None or in_range(version, _SINCE.get(name, ""))]
    return load("trl", names, version, below)


def read(parts: Iterable[Part], table: KeyTable, options: Options, run: RunConfig) -> Arguments:
    """Arguments of a run: config file first, what was typed or called wins."""
    parts = list(parts)
    program = next((part for part in parts if part.format == "shell" and is_trainer(part)), None)
    calls = [part for part in parts if part.format == "python"]
    reader = "python" if calls and program is None else "file" if program is None else _reader(program)
    arguments = Arguments(reader)
    for file in _config_files(parts, program, options, run, arguments):
        _add(arguments, file_settings(file, run), table)
    if arguments.reader == "file" and not {"model_name_or_path", "output_dir"} & arguments.settings.keys():
        arguments.partial = "only a part of the run was given"
    for call in _first_calls(calls, run):
        _add(arguments, call_settings(call, run), table)
        hidden = call.program.rsplit(".", 1)[-1] in _CONFIG_CALLS and any("`**" in note for note in call.notes)
        arguments.complete = arguments.complete and not hidden
    if program is not None:
        arguments.partial = _partial(program, arguments.reader, table)
        _add(arguments, flag_settings(program, table, run.lints, arguments.reader), table)
    return arguments


def _first_calls(calls: list[Part], run: RunConfig) -> list[Part]:
    """One call of each name: a file with several (tests, examples side by side) is read by its first."""
    first: dict[str, Part] = {}
    for call in calls:
        name = call.program.rsplit(".", 1)[-1]
        if name in first and name in _CONFIG_CALLS:
            note = f"{call.path} has several {name} calls; only the one at line {first[name].line} is checked"
            run.notes += [note] if note not in run.notes else []
        first.setdefault(name, call)
    return list(first.values())


def is_trainer(part: Part) -> bool:
    """Whether a shell part is the training program (or flags without one) and not a launcher."""
    return part.program not in ("accelerate launch", "torchrun", "deepspeed") and bool(part.program or part.entries)


def _reader(program: Part) -> str:
    name = program.program.replace("/", ".").removesuffix(".py")
    return "trl" if name.startswith("trl ") or "trl.scripts." in name else "script"


def _partial(program: Part, reader: str, table: KeyTable) -> str:
    """Why the command line may not be the whole story; "" when it is.

    A script that takes --config, or several fields of the dataclasses and nothing else, leaves the rest to them.
    """
    if not program.program:
        return "only a part of the run was given"
    flags = {field_of_flag(entry.key, table, False)[0] for entry in program.entries if entry.key.startswith("--")}
    if reader == "trl" or "config" in flags or (len(flags) > 2 and all(table.known(name) for name in flags)):
        return ""
    return f"{program.program} may set in code what its command line does not say"


def _config_files(
    parts: list[Part], program: Part | None, options: Options, run: RunConfig, arguments: Arguments
) -> list[Part]:
    """The trainer's YAML or JSON: among the parts, else what `--config` names."""
    from . import accelerate, deepspeed

    files = [
        part
        for part in parts
        if part.format in ("yaml", "json") and not accelerate.is_config(part) and not deepspeed.is_config(part)
    ]
    named = program.last("--config") if program is not None else None
    if named is None or not isinstance(named.value, str):
        return files
    tail = named.value.rsplit("/", 1)[-1]
    same = [part for part in files if part.path.rsplit("/", 1)[-1] == tail]
    if same or len(files) == 1:
        return same or files
    loaded = options.load(named.value, named.file) if options.load is not None else []
    if not loaded:
        arguments.complete = False
        run.notes.append(f"{named.value}: not found, so unset arguments have unknown values")
    for part in loaded:
        run.sources.append(_source(part))
        run.lints += part.lints
    return files + loaded


def _source(part: Part) -> Any:
    from ..run_config import SourceFile

    return SourceFile(part.path, part.format, len(part.entries))


def _add(arguments: Arguments, settings: dict[str, Setting], table: KeyTable) -> None:
    for name, setting in settings.items():
        known = table.canonical(name) or name
        if table.known(name) and name not in LAUNCH_ONLY:
            value = setting.value
            if arguments.reader != "python" and isinstance(value, str):
                value = typed(value, value, table.type(known))  # argparse converts a default that is text, too
            arguments.settings[known] = replace(setting, field=known, value=value)
        else:
            arguments.rest[name] = setting


def file_settings(part: Part, run: RunConfig) -> dict[str, Setting]:
    """Settings of a config file; its `env` block goes to the run's environment."""
    found = explicit_settings(part.entries, [])
    for key in [key for key in found if key.startswith("env.")]:
        setting = found.pop(key)
        name = key.removeprefix("env.")
        run.env[name] = replace(setting, field=f"env.{name}", key=name, value=_env_text(setting.value))
    return found


def _env_text(value: Any) -> Any:
    return value if isinstance(value, str | Unresolved) else str(value)


def call_settings(part: Part, run: RunConfig) -> dict[str, Setting]:
    """Keyword arguments of GRPOConfig, LoraConfig and the trainer under the names of the dataclass fields."""
    found = explicit_settings(part.entries, [])
    callee = part.program.rsplit(".", 1)[-1]
    if callee == "os.environ" or part.program == "os.environ":
        for name, setting in found.items():
            run.env[name] = replace(setting, field=f"env.{name}", value=_env_text(setting.value))
        return {}
    if callee == "LoraConfig":
        named = {_LORA[key]: setting for key, setting in found.items() if key in _LORA}
        place = Setting("use_peft", "LoraConfig", True, EXPLICIT, part.path, part.line)
        return {"use_peft": place, **named}
    if callee.endswith("Trainer"):
        return _trainer_settings(part, found)
    return found if callee in _CONFIG_CALLS else {}


def _trainer_settings(part: Part, found: dict[str, Setting]) -> dict[str, Setting]:
    """The model by name, the reward functions, and whether there is an adapter."""
    settings: dict[str, Setting] = {key: found[key] for key in ("reward_funcs",) if key in found}
    model = found.get("model")
    if model is not None and isinstance(model.value, str):
        settings["model_name_or_path"] = model
    adapter = found.get("peft_config")
    if adapter is None or adapter.value is None:
        settings["use_peft"] = Setting("use_peft", "peft_config", False, EXPLICIT, part.path, part.line)
    elif "LoraConfig" not in str(adapter.value):
        settings["use_peft"] = replace(adapter, value=Unresolved(str(adapter.value), ("peft_config",)))
    return settings


def flag_settings(part: Part, table: KeyTable, lints: list[Lint], reader: str = "trl") -> dict[str, Setting]:
    """Flags by field name, with values of the field's type; `lints` gets flags that are set twice."""
    found: dict[str, Setting] = {}
    bare = {entry.key for entry in part.entries if entry.value is True and not entry.text}
    texts = {entry.key: entry.text for entry in part.entries}
    flags = [entry for entry in part.entries if entry.key.startswith("-")]
    for key, setting in explicit_settings(flags, lints).items():
        name, negated = field_of_flag(key, table, abbreviations=reader == "trl")
        value = not setting.value if negated else typed(setting.value, texts[key], table.type(name))
        found[name] = replace(setting, field=name, value=value, note=BARE if key in bare and not negated else "")
    return found


def field_of_flag(flag: str, table: KeyTable, abbreviations: bool = True) -> tuple[str, bool]:
    """Field that a flag stands for, and whether it is the `--no_` form.

    HfArgumentParser registers a name with underscores throughout and one with dashes throughout.
    """
    name = flag.lstrip("-")
    if "-" in name and "_" not in name:
        name = name.replace("-", "_")
    if table.known(name):
        return name, False
    positive = name.removeprefix("no_")
    if positive != name and table.default(positive) is True:
        return positive, True
    if abbreviations and name:
        longer = [known for known in table if known.startswith(name)]
        if len(longer) == 1:
            return longer[0], False
    return name, False


def typed(value: Any, text: str, kind: str) -> Any:
    """A value as HfArgumentParser would hand it to a field of this type ("bool", "float", "dict|str" ...)."""
    if isinstance(value, Unresolved) or value is None or not kind:
        return value
    if kind == "bool":
        return _as_bool(value, text)
    if kind == "str" and text and not isinstance(value, list):
        return text
    if isinstance(value, str) and value.lower() in _NONE and kind in ("int", "float"):
        return None
    if isinstance(value, str) and kind in ("int", "float"):
        return _as_number(value, kind)
    if isinstance(value, str) and "dict" in kind.split("|") and value.lstrip().startswith("{"):
        return as_dict(value)
    return value


def _as_bool(value: Any, text: str) -> Any:
    word = (text or str(value)).lower()
    return True if value is True or word in _TRUE else False if value is False or word in _FALSE else value


def _as_number(value: str, kind: str) -> Any:
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if kind == "int" and number.is_integer() else number


def as_dict(value: str) -> Any:
    """What a JSON text holds; the text itself when it is none."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def judge(run: RunConfig, arguments: Arguments, table: KeyTable, options: Options) -> None:
    """Names that the reader of the arguments does not know.

    The TRL command and a call in Python refuse them (0.22 to 0.28 of the command ignore them). A script of the user's
    may have arguments of its own: there only a near miss of a known name is told.
    """
    launch = load("accelerate", ["launch"], options.versions.get("accelerate"))
    for name, setting in arguments.rest.items():
        head = name.split(".", 1)[0]
        if arguments.reader != "python" and (head in LAUNCH_ONLY or launch.known(head)):
            continue
        row = _unknown(name, setting, arguments.reader, table, options)
        if row is not None:
            run.unknown_keys.append(row)


def _unknown(name: str, setting: Setting, reader: str, table: KeyTable, options: Options) -> UnknownKey | None:
    reason = table.explain_unknown(name)
    ever = table.lifecycle(name) is not None
    exact = table.exact and (table.below is None or table.below.exact or table.below.lifecycle(name) is None)
    if ever and not exact:
        return None
    if reader in ("script", "file") and not ever and not _near_miss(name, reason.did_you_mean):
        return None
    note = reason.note
    fatal = exact and reader in ("trl", "python") and "." not in name
    if reader == "trl" and in_range(options.versions.get("trl", table.version), ">=0.22.0,<0.29.0"):
        fatal, note = False, f"{note}; this TRL version ignores it silently"
    dashes = "--" if setting.key.startswith("--") and reason.new_name else ""
    new_name = f"{dashes}{reason.new_name}"
    return UnknownKey(setting.key, setting.file, setting.line, list(reason.did_you_mean), note, fatal, new_name)


def _near_miss(name: str, candidates: Iterable[str]) -> bool:
    """Whether the best candidate is one slip away: the same letters up to dashes, or one edit on a long name."""
    best = next(iter(candidates), "")
    if not best:
        return False
    if best.replace("_", "") == name.replace("_", "").replace("-", ""):
        return True
    from rapidfuzz.distance import DamerauLevenshtein

    return len(name) >= 8 and DamerauLevenshtein.distance(name, best) <= 2
