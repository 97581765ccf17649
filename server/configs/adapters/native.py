"""Settings under their framework's own names: shared by adapters that are mostly data.

Key tables hold names as the framework's code has them (`tensor_parallel_size`, `policy.model_name`). A user writes the
same name as a flag (`--tensor-parallel-size`), in YAML or as a keyword argument; `Names` goes back and forth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..keys import MISSING, KeyTable
from ..parts import Part
from ..run_config import DEFAULT, RunConfig, Setting, UnknownKey
from ..values import Entry, Lint, Unresolved
from .common import FieldMap, explicit_settings
from .trl_arguments import typed

_HELP = ("help", "h", "m")  # every parser has the first two; -m is that of an interpreter behind a variable


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one framework at one version.

    flags: whether settings are written as `--name` with dashes; otherwise as in the table.
    negations: name of a switch -> name of the setting that it switches off, where that is not `no_` + name.
    exact: keyword arguments, which have neither aliases nor abbreviations.
    prefix: what another program's flags begin with that hands them on ("sglang-").
    """

    table: KeyTable
    title: str  # "vLLM"
    flags: bool = True
    negations: Mapping[str, str] | None = None
    exact: bool = False
    prefix: str = ""

    def name_of(self, key: str) -> tuple[str, bool]:
        """The table's name of a native key, and whether the key switches that setting off."""
        if self.exact:
            return key, False
        flag = key.lstrip("-").removeprefix(self.prefix)
        head, dot, rest = flag.partition(".")
        name = head.replace("-", "_") + dot + rest
        for spelling in (name, flag):
            if (found := self.table.canonical(spelling)) is not None:
                return found, False
        if dot and (section := self.table.canonical(head.replace("-", "_"))) is not None:
            return f"{section}.{rest}", False
        if not key.startswith("-"):
            return key, False
        if self.negations is not None and name in self.negations:
            return self.negations[name], True
        positive = name.removeprefix("no_")
        if positive != name and (found := self.table.canonical(positive)) is not None:
            return found, True
        return name, False

    def knows(self, name: str) -> bool:
        """Whether the framework takes the table's name."""
        if not self.exact:
            return self.table.known(name)
        return name in set(self.table) or self.table.is_section(name) or self.table.is_open(name)

    def written(self, name: str) -> str:
        """The native key of a table's name, as the user would write it."""
        return f"--{self.prefix}{name.replace('_', '-')}" if self.flags else name


def given_settings(entries: Iterable[Entry], names: Names, lints: list[Lint]) -> dict[str, Setting]:
    """What the user wrote, by the table's names, with values of the declared types; `lints` gets what is set twice."""
    entries = list(entries)
    texts = {entry.key: entry.text for entry in entries}
    found: dict[str, Setting] = {}
    for key, setting in explicit_settings(entries, lints).items():
        name, off = names.name_of(key)
        value = setting.value
        if off and isinstance(value, bool):
            value = not value
        elif key.startswith("-"):
            value = typed(value, texts[key], names.table.type(name))
        found[name] = replace(setting, value=value)
    return found


def fill_named(run: RunConfig, fields: FieldMap, given: Mapping[str, Setting], names: Names) -> None:
    """Canonical fields from what was given, else from the defaults of the table.

    The first of a field's names that was given wins; the default is that of the first one the table knows. A field
    none of whose names this version knows is noted in `run.absent`.
    """
    explicit = {name: setting.value for name, setting in given.items()}
    version = f"{names.title} {names.table.version}"
    for field, spelled in fields.items():
        candidates = [spelled] if isinstance(spelled, str) else list(spelled)
        known = next((name for name in candidates if names.table.known(name)), None)
        chosen = next((name for name in candidates if name in given), None)
        run.keys[field] = names.written(known or candidates[0])
        if chosen is not None:
            run.keys[field] = given[chosen].key
            run.set_explicit_like(field, given[chosen], given[chosen].value)
            continue
        if known is None:
            run.absent.add(field)
            continue
        default = names.table.resolved_default(known, explicit)
        if default is MISSING and names.table.is_open(known):
            default = None  # a part of a section that nobody wrote
        if default is not MISSING:
            run.settings[field] = Setting(field, run.keys[field], default, DEFAULT, version=version)


def judge_names(
    run: RunConfig,
    given: Mapping[str, Setting],
    names: Names,
    stated: str | None,
    stops: bool,
    skip: Sequence[str] = (),
) -> None:
    """Keys that the framework does not know, into `run.unknown_keys`.

    stated: the version the caller gave. Without one, or with one that was not read itself, a key counts as unknown only
    when no release that was read has it. stops: whether the framework ends at start-up on an unknown key.
    skip: names, or beginnings that end in a dot, which another program takes.
    """
    exact = stated is not None and names.table.exact
    skip = (*skip, *(_HELP if names.flags else ()))
    beginnings = tuple(name for name in skip if name.endswith("."))
    for name, setting in given.items():
        if names.knows(name) or name in skip or (beginnings and name.startswith(beginnings)):
            continue
        if not exact and names.table.lifecycle(name) is not None:
            continue
        reason = names.table.explain_unknown(name)
        meant = [names.written(similar) for similar in reason.did_you_mean]
        new_name = names.written(reason.new_name) if reason.new_name else ""
        run.unknown_keys.append(
            UnknownKey(setting.key, setting.file, setting.line, meant, reason.note, exact and stops, new_name)
        )


def judge_choices(
    run: RunConfig, given: Mapping[str, Setting], names: Names, stated: str | None, skip: Sequence[str] = ()
) -> None:
    """Values that are none of a key's choices: the framework's parser refuses them. skip: what a rule decides."""
    exact = stated is not None and names.table.exact
    for name, setting in given.items():
        choices = () if name in skip else names.table.choices(name)
        values = setting.value if isinstance(setting.value, list) else [setting.value]
        wrong = [value for value in values if not isinstance(value, Unresolved) and value not in choices]
        if not choices or not wrong or setting.value is None:
            continue
        text = f"{setting.key}={wrong[0]}: no choice of {names.title} {names.table.version}, which stops at start-up."
        allowed = ", ".join(str(choice) for choice in choices)
        severity = "error" if exact else "warning"
        run.lints.append(
            Lint("invalid-choice", text, setting.file, setting.line, severity, f"Choose one of {allowed}.")
        )


def flags_of(parts: Iterable[Part]) -> list[Entry]:
    """The flags of the parts, in order."""
    return [entry for part in parts for entry in part.entries if entry.key.startswith("-")]


def value_of(given: Mapping[str, Setting], table: KeyTable, name: str) -> Any:
    """The value in force of a table's name: given, else its default; None when there is none or it is not decided."""
    if name in given:
        value = given[name].value
    else:
        value = table.resolved_default(name, {key: setting.value for key, setting in given.items()})
    return None if value is MISSING or isinstance(value, Unresolved) else value
