"""vLLM: `vllm serve` and the server module, `LLM(...)` and `AsyncEngineArgs(...)` in Python, the YAML of `--config`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig, UnknownKey
from .common import Options, apply_options, derive_moe
from .engine_arguments import derive_recurrent
from .engines import Arguments, Engine, derive_common, read
from .native import Names, fill_named, given_settings, judge_names, value_of

_CALLS = {"LLM": ("LLM", "EngineArgs"), "AsyncEngineArgs": ("EngineArgs",), "EngineArgs": ("EngineArgs",)}
_LEVEL = re.compile(r"-O=?(\d)")  # -O3: the level behind the flag without a space


def build(parts: list[Part], options: Options) -> RunConfig:
    """One engine; on NPUs the plug-in's own settings are read as well."""
    from . import vllm_ascend

    if vllm_ascend.is_meant(parts, options):
        return vllm_ascend.build(parts, options)
    run = engine_run(parts, options)
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """An engine has no batch arithmetic of its own: requests come from outside."""
    return {}


def engine_run(parts: list[Part], options: Options) -> RunConfig:
    """The engine's settings and those of the requests that stand beside it."""
    run, arguments = read([_with_levels(part) for part in parts], options, _engine())
    fill_named(run, adapter_data("vllm")["fields"], arguments.given, arguments.names)
    _judge_json(run, arguments, options.versions.get("vllm"))
    _take_requests(run, parts, options)
    run.derive("rollout_engine", "vllm", "a vLLM engine")
    if value_of(arguments.given, arguments.names.table, "speculative_config") is None:
        drafts = any(name.startswith("speculative_config.") for name in arguments.given)
        run.derive("speculation", drafts, "a speculative_config", run.key_of("speculation"))
    derive_common(run)
    derive_moe(run)
    derive_recurrent(run)
    return run


def _engine() -> Engine:
    tables = ("serve", "EngineArgs")
    return Engine("vllm", "vLLM", tables, _CALLS, "model", _inverse_switches, ("omni",), ("max_lora_rank",))


def _inverse_switches(table: KeyTable) -> Mapping[str, str]:
    """`--disable-x` for `--enable-x` and the other way round, where the release's parser has it."""
    if load("vllm", ["parser"], table.version).default("disable_switches") is not True:
        return {}
    pairs = (("enable_", "disable_"), ("disable_", "enable_"))
    return {
        other + name.removeprefix(own): name
        for name in table
        for own, other in pairs
        if name.startswith(own) and table.type(name) == "bool"
    }


def _judge_json(run: RunConfig, arguments: Arguments, stated: str | None) -> None:
    """Keys inside the JSON of an argument that its configuration class does not have.

    Without a stated version only those that no release has. Up to 0.16 most classes ignore them.
    """
    table = load("vllm", ["json"], stated)
    names, exact = set(table), stated is not None and table.exact
    sections = {name.split(".")[0] for name in names}
    fatal = exact and load("vllm", ["parser"], stated).default("json_forbids_unknown") is True
    for name, setting in arguments.given.items():
        section, dot, _ = name.partition(".")
        if not dot or section not in sections or ".".join(name.split(".")[:2]) in names:
            continue
        if exact or table.lifecycle(name) is None:
            reason = table.explain_unknown(name)
            head = setting.key.partition(".")[0]
            meant = [f"{head}.{similar.partition('.')[2]}" for similar in reason.did_you_mean]
            row = UnknownKey(setting.key, setting.file, setting.line, meant, reason.note, fatal)
            run.unknown_keys.append(row)


def _with_levels(part: Part) -> Part:
    """The part with `-O3` as `-O 3`."""
    if not any(_LEVEL.fullmatch(entry.key) for entry in part.entries):
        return part
    entries = [
        replace(entry, key="-O", value=int(match[1]), text=match[1])
        if (match := _LEVEL.fullmatch(entry.key))
        else entry
        for entry in part.entries
    ]
    return replace(part, entries=entries)


def _take_requests(run: RunConfig, parts: list[Part], options: Options) -> None:
    """Sampling settings of the file's `SamplingParams(...)`, when it has one call."""
    calls = [part for part in parts if part.format == "python" and part.program == "SamplingParams"]
    if len(calls) > 1:
        run.notes.append(f"{calls[0].path}: {len(calls)} calls of SamplingParams; none of them is checked")
    if len(calls) != 1:
        return
    stated = options.versions.get("vllm")
    names = Names(load("vllm", ["SamplingParams"], stated), "vLLM", flags=False, exact=True)
    given = given_settings(calls[0].entries, names, run.lints)
    fill_named(run, adapter_data("vllm")["sampling"], given, names)
    if (asked := run.settings.get("requested_logprobs")) is not None and asked.known:
        run.set_explicit_like("calculate_log_probs", asked, asked.value is not None)
    judge_names(run, given, names, stated, stops=True)
