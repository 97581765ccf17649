"""vLLM-Ascend: a vLLM engine on NPUs, with the plug-in's `additional_config` and environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting, UnknownKey
from ..values import Unresolved
from .common import Options, apply_options
from .engines import is_set_in

_SECTION = "additional_config."
_PACKAGE = "vllm-ascend"


def is_meant(parts: list[Part], options: Options) -> bool:
    """Whether the engine runs on NPUs: the plug-in's version is given, its variables are set, or its keys are used."""
    data = adapter_data(_PACKAGE)
    if _PACKAGE in options.versions or is_set_in(parts, data["telling_variables"]):
        return True
    known = set(load(_PACKAGE, ["additional_config"]))
    return any(key in known for part in parts for key in _additional(part))


def build(parts: list[Part], options: Options) -> RunConfig:
    """One engine with the plug-in's settings."""
    from .vllm import engine_run

    run = engine_run(parts, options)
    run.framework = _PACKAGE
    run.derive("device", "npu", "vLLM-Ascend")
    stated = options.versions.get(_PACKAGE)
    table = load(_PACKAGE, ["additional_config", "environment"], stated)
    run.notes += [table.note] if table.note else []
    given = _given(run)
    _fill(run, given, table)
    _derive_weight_format(run, table)
    _judge(run, given, load(_PACKAGE, ["additional_config"], stated), stated)
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """An engine has no batch arithmetic of its own."""
    return {}


def _additional(part: Part) -> list[str]:
    """Keys of additional_config that a part writes, in JSON, dotted or as keywords."""
    from .engines import json_leaves

    found: list[str] = []
    for entry in part.entries:
        name = entry.key.lstrip("-").replace("-", "_")
        if name.startswith(_SECTION):
            found.append(entry.key.split(".", 1)[1])
        elif name == "additional_config":
            found += json_leaves(entry.text)
    return found


def _given(run: RunConfig) -> dict[str, Setting]:
    """What the user wrote in additional_config, by its dotted key."""
    return {
        key.split(".", 1)[1]: setting
        for key, setting in run.native.items()
        if key.lstrip("-").replace("-", "_").startswith(_SECTION)
    }


def _fill(run: RunConfig, given: Mapping[str, Setting], table: KeyTable) -> None:
    for name, key in adapter_data(_PACKAGE)["fields"].items():
        run.keys[name] = f"{_SECTION}{key}"
        if key in given:
            run.set_explicit_like(name, given[key], given[key].value)
        elif not table.known(key):
            run.absent.add(name)
        else:
            version = f"vLLM-Ascend {table.version}"
            run.settings[name] = Setting(name, run.keys[name], table.default(key), DEFAULT, version=version)


def _derive_weight_format(run: RunConfig, table: KeyTable) -> None:
    """The blocked NZ format: by key where there is one, by variable where that is not written."""
    variable = adapter_data(_PACKAGE)["weight_format_variable"]
    setting, by_variable = run.settings.get("weight_nz_mode"), run.env.get(variable)
    if run.value("ascend_rl_mode") is True:
        run.derive("weight_nz_mode", 0, "rl_config.enabled switches it off", run.key_of("ascend_rl_mode"))
        return
    if setting is not None and setting.origin == EXPLICIT:
        return
    if not table.known(variable):
        if setting is not None and by_variable is not None and not table.exact:  # an older release would read it
            setting.value = Unresolved(str(by_variable.value), (f"--version {_PACKAGE}=...",))
        return
    if setting is None:
        run.absent.discard("weight_nz_mode")
        run.keys["weight_nz_mode"] = variable
    if by_variable is not None:
        text = by_variable.value
        number = int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 10 else Unresolved(str(text))
        run.set_explicit_like("weight_nz_mode", by_variable, number)
    elif setting is None:
        version = f"vLLM-Ascend {table.version}"
        default = table.default(variable)
        run.settings["weight_nz_mode"] = Setting("weight_nz_mode", variable, default, DEFAULT, version=version)


def _judge(run: RunConfig, given: Mapping[str, Setting], table: KeyTable, stated: str | None) -> None:
    """Keys that the plug-in does not know: refused from 0.27.1rc1 on, ignored before."""
    exact = stated is not None and table.exact
    for key, setting in given.items():
        if table.known(key) or (not exact and table.lifecycle(key) is not None):
            continue
        reason = table.explain_unknown(key)
        head = setting.key.rsplit(key, 1)[0]
        meant = [head + similar for similar in reason.did_you_mean]
        fatal = exact and table.rejects_unknown(key.split(".")[0])
        run.unknown_keys.append(UnknownKey(setting.key, setting.file, setting.line, meant, reason.note, fatal))
