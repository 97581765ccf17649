"""The seeds' flat settings: a JSON object without structure, `{}` included, or `key=value | key=value`.

The format implies GRPO without distillation, and nothing else: an unset key has no default and stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ...store.index import adapter as adapter_data
from ...store.index import section
from ..files import printable
from ..flat_text import typed
from ..keys_suggest import suggest
from ..parts import Part
from ..run_config import EXPLICIT, RunConfig, Setting, UnknownKey
from ..values import Entry, Lint, Unresolved
from .common import Options, apply_options, derive_moe, dtype, explicit_settings, start_run

_FORMATS = ("json", "pairs", "yaml")
_EMPTY, _NO_KEY_KNOWN = 20, 5  # claims that any other adapter outbids


def claims(part: Part) -> int:
    """85 when every key is the seeds', less for fewer, 20 for an empty object; 0 for anything with structure."""
    if part.format not in _FORMATS or part.program or not _is_flat(part):
        return 0
    keys = part.keys()
    if not keys:
        return _EMPTY if part.format == "json" else 0
    known = len(keys & _own_keys()) / len(keys)
    if part.format == "yaml":  # other programs write flat YAML as well
        return 60 if known == 1 and len(keys) > 1 else 0
    return 85 if known == 1 else round(40 + 30 * known) if known else _NO_KEY_KNOWN


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from one or several flat objects; a later one wins."""
    run = start_run("seed", parts, options)
    entries = [entry for part in parts for entry in part.entries]
    run.native = explicit_settings(entries, run.lints)
    data = adapter_data("seed")
    run.keys = {**data["set_by"], **{field: keys[0] for field, keys in data["fields"].items()}}
    for entry in entries:
        _read(run, entry)
    for name, value in (("adv_estimator", "grpo"), ("distillation", False)):
        if name not in run.settings:
            run.derive(name, value, "the format implies GRPO without distillation")
    _settle_backend(run)
    derive_moe(run)
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """The format has no prompts per step: there is nothing to compute."""
    return {}


def _is_flat(part: Part) -> bool:
    if part.format == "json" and not isinstance(part.data, dict):
        return False
    values = part.data.values() if isinstance(part.data, dict) else [entry.value for entry in part.entries]
    return not any(isinstance(value, dict) for value in values)


def _read(run: RunConfig, entry: Entry) -> None:
    """One entry into the fields that it means, or among the unknown keys."""
    data = adapter_data("seed")
    value = typed(entry.value) if isinstance(entry.value, str) else entry.value
    if entry.key in _readings():
        _read_by_value(run, entry, value)
    elif (field := _field_of(entry.key)) is not None:
        _record(run, field, entry, _checked(run, field, entry, value))
    elif entry.key in data["unread"]:
        run.notes.append(f"{entry.key}: no framework has such a setting, and no check reads it")
    else:
        run.unknown_keys.append(_unknown(entry))


def _read_by_value(run: RunConfig, entry: Entry, value: Any) -> None:
    readings = _readings()[entry.key]
    fields = readings.get(str(value).strip().lower())
    if fields is None and value in (0, 1):
        fields = readings.get(str(bool(value)).lower())
    if fields is None:
        allowed = ", ".join(_readings()[entry.key])
        run.lints.append(_bad_value(entry, f"is none of {allowed}"))
        return
    for field, meant in fields.items():
        _record(run, field, entry, meant)


def _record(run: RunConfig, field: str, entry: Entry, value: Any) -> None:
    """Set a field; two keys that disagree about it are a finding, and the later one wins."""
    earlier = run.settings.get(field)
    if earlier is not None and earlier.key != entry.key and earlier.value != value:
        text = (
            f"{earlier.key} and {entry.key} mean the same setting ({field}) and disagree: {earlier.value} and {value}; "
            "the later one is taken."
        )
        run.lints.append(Lint("conflicting-keys", text, entry.file, entry.line, "warning", "Keep one of the two."))
    run.keys[field] = entry.key
    run.settings[field] = Setting(field, entry.key, value, EXPLICIT, entry.file, entry.line)


def _checked(run: RunConfig, field: str, entry: Entry, value: Any) -> Any:
    """The value in its canonical form; a value of another kind is reported and stays unknown."""
    data = adapter_data("seed")
    if field in data["dtypes"]:
        return dtype(value)
    if field in data["numbers"]:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        problem = "is no number"
    elif field in data["switches"]:
        if isinstance(value, bool) or value is None:
            return value
        if value in (0, 1):
            return bool(value)
        problem = "is neither true nor false"
    else:
        return value.lower() if isinstance(value, str) and field != "model" else value
    run.lints.append(_bad_value(entry, problem))
    return Unresolved(printable(entry.value), (entry.key,))


def _bad_value(entry: Entry, problem: str) -> Lint:
    text = f"{entry.key}: {printable(entry.value)!r} {problem}; the setting is taken as unknown."
    return Lint("bad-value", text, entry.file, entry.line, "warning")


def _unknown(entry: Entry) -> UnknownKey:
    own = adapter_data("seed")["elsewhere"].get(entry.key.rpartition(".")[2])
    if own is not None:
        return UnknownKey(entry.key, entry.file, entry.line, [own], "the name that another program has for it")
    return UnknownKey(
        entry.key, entry.file, entry.line, suggest(entry.key, sorted(_own_keys())), "not read by any check"
    )


def _settle_backend(run: RunConfig) -> None:
    """fsdp_mode beside a ZeRO stage names two sharding engines; which one trains is then not said (a rule says so)."""
    backend = run.settings.get("sharding_backend")
    if backend is not None and backend.key == "fsdp_mode" and run.value("zero_stage"):
        del run.settings["sharding_backend"]


@lru_cache(maxsize=1)
def _own_keys() -> frozenset[str]:
    data = adapter_data("seed")
    aliases = (key for keys in data["fields"].values() for key in keys)
    return frozenset([*aliases, *data["readings"], *data["unread"]])


@lru_cache(maxsize=1)
def _readings() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Key -> value as lower-case word -> fields."""
    readings = adapter_data("seed")["readings"]
    return {key: {str(value).lower(): fields for value, fields in values.items()} for key, values in readings.items()}


@lru_cache(maxsize=1)
def _fields_by_key() -> Mapping[str, str]:
    return dict(_pairs())


def _pairs() -> Iterator[tuple[str, str]]:
    yield from ((field, field) for field in section("fields"))
    for field, keys in adapter_data("seed")["fields"].items():
        yield from ((key, field) for key in keys)


def _field_of(key: str) -> str | None:
    return _fields_by_key().get(key)
