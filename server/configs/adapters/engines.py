"""Rollout engines: what their server commands, their YAML and their calls in Python have in common.

The server's parser takes `--name value`, the YAML of `--config` the same names, `LLM(...)` or `Engine(...)` the names
of the arguments class. A file alone is a part of a run; a command or a call is a whole one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig, Setting
from ..values import Entry, Unresolved
from .common import Options, dtype, start_run
from .native import Names, given_settings, judge_choices, judge_names

_MULTIPLES = {
    "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
}  # fmt: skip
_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")


@dataclass(frozen=True, slots=True)
class Engine:
    """How one engine is started.

    tables: key tables of the server's options. calls: name of a call in Python -> key tables of its arguments.
    model: the table's name of the model. negations: for the table in use, see `Names`. plugins: options that installed
    plug-ins add. ruled: options whose values a rule decides.
    """

    name: str
    title: str
    tables: tuple[str, ...]
    calls: Mapping[str, tuple[str, ...]]
    model: str
    negations: Callable[[KeyTable], Mapping[str, str]] = lambda table: {}
    plugins: tuple[str, ...] = ()
    ruled: tuple[str, ...] = ()


@dataclass(slots=True)
class Arguments:
    """The engine's arguments by the table's names, and the names they are to be read with."""

    given: dict[str, Setting]
    names: Names


def read(parts: list[Part], options: Options, engine: Engine) -> tuple[RunConfig, Arguments]:
    """One run of an engine: its config file first, what the command or the call says wins."""
    run = start_run(engine.name, parts, options)
    command = next((part for part in parts if part.format == "shell" and part.program), None)
    call = next((part for part in parts if part.format == "python" and part.program in engine.calls), None)
    stated = options.versions.get(engine.name)
    table = load(engine.name, engine.calls[call.program] if call and command is None else engine.tables, stated)
    run.notes += [table.note] if table.note else []
    if call is not None and command is None:
        arguments = _called(run, call, parts, Names(table, engine.title, flags=False, exact=True))
        run.notes += [note for note in call.notes if note not in run.notes]
        run.partial = "the call takes settings that the text does not show" if _is_open_ended(call) else ""
    else:
        names = Names(table, engine.title, negations=engine.negations(table))
        arguments = _served(run, command, parts, options, names, engine.model)
    for name, setting in arguments.given.items():
        run.native[setting.key] = setting
        if isinstance(setting.value, str) and (number := _number(setting.value, table.type(name))) is not None:
            arguments.given[name] = replace(setting, value=number)
    judge_names(run, arguments.given, arguments.names, stated, stops=True, skip=engine.plugins)
    judge_choices(run, arguments.given, arguments.names, stated, engine.ruled)
    return run, arguments


def _is_open_ended(call: Part) -> bool:
    return any("`**" in note for note in call.notes)


def _called(run: RunConfig, call: Part, parts: list[Part], names: Names) -> Arguments:
    """The first call's keyword arguments. Others of the file are engines of their own."""
    others = [part for part in parts if part.format == "python" and part.program == call.program and part is not call]
    if others:
        run.notes.append(f"{call.path}: {len(others) + 1} calls of {call.program}; the first one is checked")
    for part in parts:
        if part.format == "python" and part.program == "os.environ":
            _take_environment(run, part)
    return Arguments(given_settings(call.entries, names, run.lints), names)


def _take_environment(run: RunConfig, part: Part) -> None:
    for entry in part.entries:
        run.env[entry.key] = Setting(f"env.{entry.key}", entry.key, entry.value, "explicit", entry.file, entry.line)


def _served(
    run: RunConfig, command: Part | None, parts: list[Part], options: Options, names: Names, model: str
) -> Arguments:
    """Flags of the server over the YAML of its `--config`; without a command, what there is."""
    flags = [entry for entry in command.entries if entry.key.startswith("-")] if command else []
    files = [part for part in parts if part.format in ("yaml", "json")]
    if command is None and not files:
        flags = [entry for part in parts for entry in part.entries if entry.key.startswith("-")]
    if command is None:
        run.partial = "only a part of the run was given"
    named = command.last("--config") if command else None
    if named is not None and not files:
        files = _followed(named, command, options, run)
    entries = [entry for part in files for entry in part.entries]
    given = given_settings(entries, names, run.lints) | given_settings(_spread(flags, names), names, run.lints)
    _move_model(command, given, names, model)
    return Arguments(given, names)


def _followed(named: Entry, command: Part | None, options: Options, run: RunConfig) -> list[Part]:
    """The file of `--config`, when it lies in the project folder."""
    found = options.load(named.value, command.path) if options.load and command and isinstance(named.value, str) else []
    for part in found:
        run.sources += start_run(run.framework, [part], options).sources
    if not found:
        run.partial = f"{named.value} was not found"
        run.notes.append(f"{named.value} was not found: keys that the command line does not set are unknown")
    return found


def _spread(flags: Iterable[Entry], names: Names) -> list[Entry]:
    """`--compilation-config '{"mode": 3}'` as `--compilation-config.mode 3`: both spellings are the same setting."""
    spread: list[Entry] = []
    for entry in flags:
        takes_json = names.table.is_open(names.name_of(entry.key)[0])
        data = _as_object(entry.text) if takes_json and entry.text.lstrip().startswith("{") else None
        if data is None:
            spread.append(entry)
            continue
        for path, value in _leaves(data):
            spread.append(replace(entry, key=f"{entry.key}.{path}", value=value, text=str(value)))
    return spread


def _as_object(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data else None


def _leaves(data: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _move_model(command: Part | None, given: dict[str, Setting], names: Names, model: str) -> None:
    """The model as first word, or behind a switch, which takes no value (`vllm serve --enforce-eager MODEL`)."""
    if command is None:
        return
    words = [word for word in command.positional if word.text]
    if words and model not in given:
        value = words[0].text if words[0].known else Unresolved(words[0].text, words[0].unknown)
        given[model] = Setting(model, model, value, "explicit", words[0].file, words[0].line)
    for name, setting in list(given.items()):
        if names.table.type(name) == "bool" and isinstance(setting.value, str) and setting.value.strip():
            given[name] = replace(setting, value=True)
            given.setdefault(model, replace(setting, field=model, key=model))


def _number(text: str, kind: str) -> int | None:
    """ "16k" as 16000 and "16K" as 16384, where an option takes whole numbers."""
    match = _HUMAN.fullmatch(text.strip()) if kind in ("int", "") else None
    return int(float(match[1]) * _MULTIPLES[match[2]]) if match else None


def derive_common(run: RunConfig, names: Sequence[str] = ("rollout_dtype",)) -> None:
    """What follows for every engine: one spelling of dtypes."""
    for name in names:
        setting = run.settings.get(name)
        if setting is not None and setting.known:
            setting.value = dtype(setting.value)


def derive_flag(run: RunConfig, name: str, source: str) -> None:
    """A switch that names the opposite of the canonical field: `disable_x` -> x."""
    setting = run.settings.pop(source, None)
    if setting is not None and isinstance(setting.value, bool):
        run.set_explicit_like(name, setting, not setting.value)
    elif setting is not None:
        run.set_explicit_like(name, setting, setting.value)


def is_set_in(parts: Iterable[Part], names: Iterable[str]) -> bool:
    """Whether a launch or a Python file sets one of the environment variables; a name ending in "_" stands for all."""
    beginnings = tuple(names)
    for part in parts:
        own = [entry.key for entry in part.entries] if part.program == "os.environ" else []
        if any(name.startswith(beginnings) for name in (*part.env, *own)):
            return True
    return False


def json_leaves(text: str) -> list[str]:
    """Dotted keys of a JSON object written as text; [] for anything else."""
    data = _as_object(text) if text.lstrip().startswith("{") else None
    return [path for path, _ in _leaves(data)] if data else []
