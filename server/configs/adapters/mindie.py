"""MindIE Service: the config.json of its server, and the environment that a script starts the daemon with."""

from __future__ import annotations

from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import load
from ..parts import Part
from ..run_config import RunConfig
from ..values import Entry
from .common import Options, apply_options, derive_moe, start_run
from .native import Names, fill_named, given_settings, judge_names

_PACKAGE = "mindie-llm"
_MODELS = "BackendConfig.ModelDeployConfig.ModelConfig"


def build(parts: list[Part], options: Options) -> RunConfig:
    """One server. Its file is complete: what it leaves out is a fault of the file, or optional."""
    run = start_run("mindie", parts, options)
    stated = options.versions.get(_PACKAGE) or options.versions.get("mindie")
    if stated is not None:
        run.versions[_PACKAGE] = stated
    names = Names(load("mindie", ["config"], stated), "MindIE", flags=False)
    run.notes += [names.table.note] if names.table.note else []
    entries = [entry for part in parts if part.format == "json" for entry in part.entries]
    given = given_settings([flat for entry in entries for flat in _first_model(entry)], names, run.lints)
    run.native = {setting.key: setting for setting in given.values()}
    fill_named(run, adapter_data("mindie")["fields"], given, names)
    if not entries:
        run.partial = "the server's config.json was not given"
    judge_names(run, given, names, stated, stops=False)
    devices = run.settings.get("npu_devices")
    if devices is not None and isinstance(devices.value, list) and devices.value and isinstance(devices.value[0], list):
        run.set_explicit_like("npus_per_instance", devices, len(devices.value[0]))
    run.derive("rollout_engine", "mindie", "a MindIE server")
    run.derive("device", "npu", "MindIE")
    derive_moe(run)
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """A server has no batch arithmetic of its own: requests come from outside."""
    return {}


def _first_model(entry: Entry) -> list[Entry]:
    """ModelConfig is a list; its first model stands under plain keys."""
    models = entry.value
    if entry.key != _MODELS or not isinstance(models, list) or not models or not isinstance(models[0], dict):
        return [entry]
    return [
        Entry(f"{_MODELS}.{key}", value, entry.file, entry.line, text=str(value)) for key, value in models[0].items()
    ]
