"""Megatron-Bridge: Hydra-style overrides, YAML and Python recipes over its ConfigContainer.

What is not written comes from a recipe, a Python function; its values are not known, so only what was written counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...store.index import adapter as adapter_data
from ...store.versions import parse
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig
from ..values import Entry, Unresolved
from . import launchers
from .common import Options, apply_options, derive_moe, explicit_settings, fill, product, start_run, whole
from .megatron_common import LAUNCHERS, derive_accumulation, derive_parallelism, derive_training, micro_steps
from .native import Names, judge_names


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its overrides, YAML or recipe; a command line wins over files."""
    run = start_run("megatron-bridge", parts, options)
    data, stated = adapter_data("megatron-bridge"), options.versions.get("megatron-bridge")
    table = load("megatron-bridge", ["ConfigContainer"], stated)
    run.notes += [table.note] if table.note else []
    programs = sorted(
        (part for part in parts if part.program not in LAUNCHERS), key=lambda part: part.format == "shell"
    )
    entries = [entry for part in programs for entry in _entries(part, data["flags"])]
    run.native = explicit_settings(entries, run.lints)
    run.partial = "the recipe sets in code what is not written here"
    fill(run, data["fields"], table, f"Megatron-Bridge {table.version}", defaults_known=False)
    _judge(run, programs, table, stated)
    _pin_core(run, data, table, stated)
    launchers.record(run, launchers.world_size(parts))
    _derive(run)
    apply_options(run, options)
    derive_parallelism(run)
    derive_accumulation(run)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Samples, tokens and micro-steps of an optimizer step."""
    samples = whole(run.value("train_batch_samples"))
    steps, text = micro_steps(run, samples)
    tokens = product(samples, run.value("seq_length"))
    table = {"samples_per_optimizer_step": samples, "tokens_per_step": tokens, "micro_steps": steps}
    formula = {"tokens_per_step": f"{samples} x {run.value('seq_length')}", "micro_steps": text}
    found: dict[str, Any] = {name: value for name, value in table.items() if value is not None}
    return {**found, "formula": {name: shown for name, shown in formula.items() if name in found}} if found else {}


def _entries(part: Part, flags: dict[str, str]) -> list[Entry]:
    """Dotted keys as they are; the short options of run_recipe.py under the key they set, before the overrides."""
    short = [
        replace(entry, key=flags[name])
        for entry in part.entries
        if entry.key.startswith("-") and (name := entry.key.lstrip("-").replace("-", "_")) in flags
    ]
    return [*short, *(entry for entry in part.entries if not entry.key.startswith("-"))]


def _judge(run: RunConfig, programs: list[Part], table: KeyTable, stated: str | None) -> None:
    """Overrides go into a struct and stop the run; a key of a YAML or a recipe that nobody has is passed over."""
    names = Names(table, "Megatron-Bridge", flags=False)
    typed = {entry.key for part in programs if part.format == "shell" for entry in part.entries}
    judge_names(run, {key: item for key, item in run.native.items() if key in typed}, names, stated, stops=True)
    known = len(run.unknown_keys)
    judge_names(run, {key: item for key, item in run.native.items() if key not in typed}, names, stated, stops=False)
    for row in run.unknown_keys[known:]:
        row.note = f"{row.note}; it has no effect"


def _pin_core(run: RunConfig, data: dict[str, Any], table: KeyTable, stated: str | None) -> None:
    """megatron-core of the release's submodule, when the caller names the release and no core of another version."""
    if stated is None or "megatron-core" in run.versions:
        return
    pins = [name for name in data["megatron"] if parse(name) <= parse(table.version)]
    if pins:
        run.versions["megatron-core"] = data["megatron"][max(pins, key=parse)]
        run.notes.append(f"Megatron-Bridge {table.version} pins megatron-core {run.versions['megatron-core']}")


def _derive(run: RunConfig) -> None:
    precision = run.native.get("mixed_precision")
    if precision is not None and isinstance(precision.value, str):
        for name in ("bf16", "fp16"):
            run.set_explicit_like(name, precision, precision.value.startswith(name))
    derive_training(run)
    experts = run.settings.get("n_experts")
    if experts is None or isinstance(experts.value, Unresolved):
        run.settings.pop("is_moe", None)
        derive_moe(run)
