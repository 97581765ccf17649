"""What all adapters share: options, explicit settings of a run, and filling canonical fields from them and defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...store.index import section
from ..keys import MISSING, KeyTable
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting, SourceFile
from ..values import Entry, Lint, Unresolved

FieldMap = Mapping[str, str | Sequence[str]]


@dataclass(slots=True)
class Options:
    """What the caller knows beside the files: package versions, world size, GPU model, fields set by hand."""

    versions: dict[str, str] = field(default_factory=dict)
    world_size: int | None = None
    gpu: str = ""
    settings: dict[str, Any] = field(default_factory=dict)  # canonical field -> value (--set)
    root: Path | None = None  # folder inside which files named by the input may be followed; None = never
    load: Callable[[str, str], list[Part]] | None = None  # (named file, naming file) -> parts of it, [] if not found


def start_run(framework: str, parts: Iterable[Part], options: Options) -> RunConfig:
    """A run with everything that does not depend on the framework: places, lints, environment, versions."""
    run = RunConfig(framework, versions=dict(options.versions))
    for part in parts:
        run.sources.append(SourceFile(part.path, part.format, len(part.entries)))
        run.lints += part.lints
        run.assumptions += part.assumptions
        run.notes += part.notes
        run.line = run.line or part.line
        run.weight += len(part.entries)
        if part.format == "shell" and part.program:
            run.derive("program", part.program, "the launch command")
        for name, word in part.env.items():
            value = word.text if word.known else Unresolved(word.text, word.unknown)
            run.env[name] = Setting(f"env.{name}", name, value, EXPLICIT, word.file, word.line)
        for name, word in part.limits.items():
            is_number = word.text.isdecimal() and len(word.text) < 20
            limit: Any = int(word.text) if is_number else Unresolved(word.text, word.unknown)
            run.settings[name] = Setting(name, "ulimit -n", limit, EXPLICIT, word.file, word.line)
    if any(part.takes_arguments for part in parts):
        run.notes.append('the launch takes further arguments ("$@"); they were taken as none')
    return run


def explicit_settings(entries: Iterable[Entry], lints: list[Lint]) -> dict[str, Setting]:
    """The user's settings by native key, the last one winning; a key set twice is noted in `lints`.

    A Hydra deletion (`~key`) takes the key out again.
    """
    found: dict[str, Setting] = {}
    ops: dict[str, str] = {}
    for entry in entries:
        earlier = found.get(entry.key)
        if earlier is not None and earlier.file == entry.file and earlier.line and entry.op != "~":
            lints.append(_duplicate(earlier, entry))
        if entry.op == "~":
            found.pop(entry.key, None)
            continue
        found[entry.key] = Setting(entry.key, entry.key, entry.value, EXPLICIT, entry.file, entry.line)
        ops[entry.key] = entry.op
    return found


def _duplicate(earlier: Setting, entry: Entry) -> Lint:
    same = earlier.value == entry.value
    text = f"{entry.key} is set twice, at line {earlier.line} and line {entry.line}; " + (
        "both times to the same value." if same else f"the later value {entry.text or entry.value} wins."
    )
    return Lint("duplicate-key", text, entry.file, entry.line, "info" if same else "warning", "Keep one of the two.")


def fill(
    run: RunConfig,
    fields: FieldMap,
    table: KeyTable | None,
    version: str,
    defaults_known: bool = True,
    handed_on: Sequence[str] = (),
) -> None:
    """Fill canonical fields from the run's explicit settings, else from the defaults of `table`.

    The first native key of a field that the user set wins; the default is that of the first key the table knows.
    A field whose keys this version does not know is noted in `run.absent`; one inside an open dictionary, or in a
    section of `handed_on` that is handed on to another library, is null until somebody sets it. version: "verl 0.9.1",
    shown beside defaults. With `defaults_known` false (the defaults come from a file that was not found) an unset field
    is unresolved, never guessed.
    """
    explicit = {key: setting.value for key, setting in run.native.items()}
    for name, keys in fields.items():
        candidates = [keys] if isinstance(keys, str) else list(keys)
        known = [key for key in candidates if table is None or table.known(key)]
        run.keys[name] = (known or candidates)[0]
        setting = next((run.native[key] for key in candidates if key in run.native), None)
        if setting is not None:
            run.keys[name] = setting.key
            run.settings[name] = Setting(name, setting.key, setting.value, EXPLICIT, setting.file, setting.line)
        elif table is not None:
            key = run.keys[name]
            default = table.resolved_default(key, explicit)
            if default is MISSING and (key.startswith(tuple(handed_on)) or table.is_open(key)):
                default = None
            if default is not MISSING:
                value = default if defaults_known else Unresolved("", (key,))
                run.settings[name] = Setting(name, key, value, DEFAULT, version=version)
            elif not known:
                run.absent.add(name)


def apply_options(run: RunConfig, options: Options) -> None:
    """Fields that the caller states (--world-size, --gpu, --set) win over everything that was read."""
    stated = dict(options.settings)
    if options.world_size is not None:
        stated["world_size"] = options.world_size
    if options.gpu:
        stated["gpu"] = options.gpu
    for name, value in stated.items():
        run.settings[name] = Setting(name, f"--set {name}", value, EXPLICIT, note="stated by the caller")


def left_open(setting: Setting | None) -> bool:
    """Whether code fills the field in: the user wrote nothing (or null), and the source has no plain default."""
    if setting is None or setting.value is None:
        return True
    return setting.origin == DEFAULT and isinstance(setting.value, Unresolved)


def whole(value: Any) -> int | None:
    """The value as a whole number, None if it is none (a bool is none)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


_DTYPES = {
    "bfloat16": ("bf16", "bfloat16"),
    "float16": ("fp16", "float16", "half"),
    "float32": ("fp32", "float32", "float"),
}
_DTYPE_OF = {spelling: name for name, spellings in _DTYPES.items() for spelling in spellings}


def dtype(value: Any) -> Any:
    """One spelling for a dtype ("bf16", "torch.bfloat16" -> "bfloat16"); anything else comes back unchanged."""
    if not isinstance(value, str):
        return value
    return _DTYPE_OF.get(value.strip().lower().removeprefix("torch."), value)


def product(*values: Any) -> int | None:
    """Product of whole numbers, None as soon as one is missing."""
    result = 1
    for value in values:
        number = whole(value)
        if number is None:
            return None
        result *= number
    return result


def derive_moe(run: RunConfig) -> None:
    """is_moe from the model's name (knowledge/model_families.yaml), unless it is known already."""
    if "is_moe" in run.settings or not isinstance(name := run.value("model"), str):
        return
    tail = "/".join(name.lower().rstrip("/").split("/")[-2:])[:300]
    for family in section("model_families"):
        if re.search(family["pattern"], tail):
            run.derive("is_moe", family["moe"], f"from the model name {name!r}", run.key_of("model"))
            return
