"""Megatron's flags, wherever they are written: on a command line, in shell arrays, in a `MODEL_ARGS:` mapping of YAML.

Shared by the adapters of Megatron-LM and slime. The key tables hold flags as they are written, without the leading
dashes: argparse takes neither underscores for dashes nor abbreviations here (`allow_abbrev=False`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..keys import MISSING, KeyTable
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting
from ..values import Entry, Lint, Unresolved
from .common import explicit_settings, product, whole
from .native import Names
from .trl_arguments import typed

Given = dict[str, Setting]
LAUNCHERS = ("torchrun", "accelerate launch", "deepspeed")
_SWITCHES = ("switch", "toggle")
_MARK = "!"  # before a switch that turns its field off


class FlagNames(Names):
    """Names that are flags already; `--no-NAME` switches a toggle off."""

    def name_of(self, key: str) -> tuple[str, bool]:
        flag = bare(key)
        if (found := self.table.canonical(flag)) is not None:
            return found, False
        positive = flag.removeprefix("no-")
        if positive != flag and self.table.type(positive) == "toggle":
            return self.table.canonical(positive) or positive, True
        return flag, False

    def written(self, name: str) -> str:
        return f"--{name}"

    def of_destination(self, key: str) -> tuple[str, bool]:
        """The flag behind an attribute of the parsed arguments (`model_parallel.bf16`), and whether it switches the
        attribute off; ("", False) when there is none."""
        name = key.rpartition(".")[2].replace("_", "-")
        if self.table.canonical(name) is not None:
            return name, False
        found = next((flag for flag in (f"no-{name}", f"disable-{name}") if self.table.type(flag) == "switch"), "")
        return found, bool(found)


def bare(key: str) -> str:
    """The flag in a native key, without dashes: "--lr" and "MODEL_ARGS.--lr" give "lr"."""
    return key.rpartition(".--")[2].lstrip("-") if ".--" in key else key.lstrip("-")


def is_flag(entry: Entry) -> bool:
    return entry.key.startswith("--") or (".--" in entry.key and entry.key.startswith("MODEL_ARGS."))


def given_flags(parts: Iterable[Part], names: FlagNames, run: RunConfig) -> Given:
    """What the user wrote, by flag, with the types that argparse gives; faults of a value go to the run's lints."""
    parts = list(parts)
    entries = [entry for part in parts for entry in part.entries if is_flag(entry)]
    texts = {entry.key: entry.text for entry in entries}
    run.native = explicit_settings(entries, run.lints)
    found: Given = _given_destinations(parts, names, run)
    for key, setting in run.native.items():
        name, off = names.name_of(key)
        kind = names.table.type(name)
        value = _expanded(setting.value) if ".--" in key else setting.value
        setting = replace(setting, value=value)
        if kind in _SWITCHES:
            _judge_switch(run, setting, texts[key])
            value = value if isinstance(value, Unresolved) else not off
        elif kind == "list" and not isinstance(value, list | Unresolved):
            value = [value]
        else:
            value = typed(value, texts[key] if key.startswith("-") else _yaml_text(value), kind)
        found[name] = replace(setting, value=value)
    return found


def _given_destinations(parts: Iterable[Part], names: FlagNames, run: RunConfig) -> Given:
    """Arguments of data files by their attribute names, as in `--yaml-cfg`: `clip_grad`, `model_parallel.bf16`."""
    files = [part for part in parts if part.format != "shell" and not any(is_flag(entry) for entry in part.entries)]
    written = explicit_settings([entry for part in files for entry in part.entries], run.lints)
    found: Given = {}
    for key, setting in written.items():
        name, off = names.of_destination(key)
        if not name:
            continue
        value = setting.value
        kind = names.table.type(name)
        value = not value if off and isinstance(value, bool) else typed(value, _yaml_text(value), kind)
        found[name] = replace(setting, value=value)
    return found


def _expanded(value: Any) -> Any:
    """A shell variable in YAML, which the script that reads the file fills in."""
    names = re.findall(r"\$\{?(\w+)", value) if isinstance(value, str) else []
    return Unresolved(value, tuple(names)) if names else value


def _yaml_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _judge_switch(run: RunConfig, setting: Setting, text: str) -> None:
    """argparse takes no value for a switch; `true` in a `MODEL_ARGS:` mapping is the bare flag."""
    in_yaml = not setting.key.startswith("-")
    if isinstance(setting.value, Unresolved) or (setting.value is True and (in_yaml or not text.strip())):
        return
    shown = text if not in_yaml else str(setting.value).lower()
    message = f"{setting.key} is a switch and takes no value ({shown}); argparse stops with an error."
    run.lints.append(Lint("stray-argument", message, setting.file, setting.line, "error", "Remove the value."))


def likely_slips(given: Given, table: KeyTable) -> Given:
    """Of the flags that nobody knows, those that were Megatron's once or are one slip away from one of its own.

    For programs that may add options themselves: there the rest is theirs.
    """
    return {name: setting for name, setting in given.items() if _was_ours(name, table) or _is_slip(name, table)}


def _was_ours(name: str, table: KeyTable) -> bool:
    note = table.explain_unknown(name).note
    return table.lifecycle(name) is not None and not note.startswith("exists only in")


def _is_slip(name: str, table: KeyTable) -> bool:
    from rapidfuzz.distance import DamerauLevenshtein

    best = next(iter(table.explain_unknown(name).did_you_mean), "")
    if name.rstrip("0123456789") == best:
        return False  # a second one of its kind, of the program's own
    same_letters = best.replace("-", "") == name.replace("_", "").replace("-", "")
    return bool(best) and (same_letters or (len(name) >= 10 and DamerauLevenshtein.distance(name, best) == 1))


def fill_flags(run: RunConfig, fields: Mapping[str, Sequence[str]], given: Given, names: Names, title: str) -> None:
    """Canonical fields from the flags given, else from the defaults; `!NAME` is a switch that turns the field off.

    A field none of whose flags this version has is noted in `run.absent`.
    """
    explicit = {name: setting.value for name, setting in given.items()}
    for field, spelled in fields.items():
        off = [name.startswith(_MARK) for name in spelled]
        flags = [name.removeprefix(_MARK) for name in spelled]
        known = next((name for name in flags if names.table.known(name)), None)
        chosen = next((name for name in flags if name in given), None)
        run.keys[field] = f"--{known or flags[0]}"
        inverted = off[flags.index(chosen or known or flags[0])]
        if chosen is not None:
            setting = given[chosen]
            run.keys[field] = setting.key
            flips = inverted and isinstance(setting.value, bool)
            run.set_explicit_like(field, setting, not setting.value if flips else setting.value)
        elif known is None:
            run.absent.add(field)
        elif (default := names.table.resolved_default(known, explicit)) is not MISSING:
            value = not default if inverted and isinstance(default, bool) else default
            run.settings[field] = Setting(field, f"--{known}", value, DEFAULT, version=f"{title} {names.table.version}")


def read_environment(run: RunConfig, parts: Iterable[Part]) -> None:
    """`ENV_VARS:` beside `MODEL_ARGS:`."""
    for part in parts:
        for entry in part.entries:
            if entry.key.startswith("ENV_VARS."):
                name = entry.key.removeprefix("ENV_VARS.")
                known = isinstance(entry.value, str | Unresolved)
                value = entry.value if known else str(entry.value)
                run.env[name] = Setting(f"env.{name}", entry.key, value, EXPLICIT, entry.file, entry.line)


# -- what Megatron computes from its arguments -------------------------------------------------------------------------


def model_size(run: RunConfig) -> int | None:
    """Ranks that hold one copy of the model: tensor x pipeline x context parallel size (x weight shards over tensor).

    Source: validate_args, `total_model_size`.
    """
    shards, tensor = run.value("weight_shards"), whole(run.value("tensor_parallel"))
    remat = 1
    if whole(shards) and tensor and whole(shards) % tensor == 0:  # type: ignore[operator]
        remat = whole(shards) // tensor  # type: ignore[operator]
    return product(tensor, run.value("pipeline_parallel"), run.value("context_parallel"), remat)


def derive_parallelism(run: RunConfig) -> None:
    """Data-parallel size, and the defaults that hang on parallel sizes."""
    world, ranks = whole(run.value("world_size")), model_size(run)
    if world and ranks and world % ranks == 0:
        note = "world size over tensor x pipeline x context parallel size"
        run.derive("data_parallel_size", world // ranks, note, "data-parallel size")
    expert = run.settings.get("expert_tensor_parallel")
    if expert is not None and expert.value is None and (tensor := run.settings.get("tensor_parallel")) is not None:
        run.derive("expert_tensor_parallel", tensor.value, f"unset: {tensor.key}", expert.key)


def derive_training(run: RunConfig) -> None:
    """Fields that Megatron computes from several flags (validate_args)."""
    _derive_precision(run)
    _derive_optimizer(run)
    _derive_recompute(run)
    _derive_model(run)
    fsdp2 = run.value("use_torch_fsdp2") is True
    run.derive("sharding_backend", "fsdp2" if fsdp2 else "megatron", "the trainer's back end")


def _derive_precision(run: RunConfig) -> None:
    bf16, fp16 = run.value("bf16"), run.value("fp16")
    if bf16 is True or fp16 is True:
        name, wide = ("bf16", "bfloat16") if bf16 else ("fp16", "float16")
        run.derive("model_dtype", wide, "the precision flag", run.key_of(name))
    elif bf16 is False and fp16 is False:
        run.derive("model_dtype", "float32", "neither --bf16 nor --fp16", run.key_of("bf16"))
    _derive_accumulation(run, bf16, fp16)
    router = run.settings.get("gating_dtype")
    if router is not None and router.known:
        router.value = {"fp32": "float32", "fp64": "float64"}.get(str(router.value), router.value)


def _derive_accumulation(run: RunConfig, bf16: Any, fp16: Any) -> None:
    if bf16 is True:
        narrow = run.value("bf16_grad_reduce") is True or run.value("main_grads_dtype", "fp32") == "bf16"
        note = "bf16 gradients are accumulated and reduced in fp32 unless told otherwise"
        run.derive("grad_accum_dtype", "bfloat16" if narrow else "float32", note, run.key_of("bf16_grad_reduce"))
    elif fp16 is True and isinstance(wide := run.value("fp32_grad_accumulation"), bool):
        key = run.key_of("fp32_grad_accumulation")
        run.derive("grad_accum_dtype", "float32" if wide else "float16", "the flag", key)


def _derive_optimizer(run: RunConfig) -> None:
    offload = run.settings.get("offload_optimizer")
    if offload is not None and isinstance(offload.value, bool):
        offload.value = "cpu" if offload.value else False
    optimizer = run.settings.get("optimizer")
    if optimizer is None or not isinstance(optimizer.value, str):
        return
    named, sharded = optimizer.value, run.value("use_distributed_optimizer")
    if named == "dist_muon":
        optimizer.value, optimizer.note = "muon", "dist_muon: Muon with whole matrices spread over ranks"
    if isinstance(sharded, bool):
        layerwise = named == "dist_muon" or (named not in ("adam", "sgd") and sharded)
        run.derive("layerwise_optimizer", layerwise, f"optimizer {named}", optimizer.key)
    if "muon" in named:
        run.derive("chained_optimizer", True, "Muon for matrices, Adam for the rest", optimizer.key)


def _derive_recompute(run: RunConfig) -> None:
    if run.value("recompute_selective") is True:
        run.set_explicit_like("recompute_granularity", run.settings["recompute_selective"], "selective")
    granularity = run.settings.get("recompute_granularity")
    if granularity is not None and granularity.known:
        run.derive("gradient_checkpointing", granularity.value is not None, f"{granularity.value}", granularity.key)


def _derive_model(run: RunConfig) -> None:
    experts, pattern = run.settings.get("n_experts"), run.value("hybrid_pattern")
    variant = run.settings.get("attention_variant")
    if isinstance(pattern, str):
        note = f"layer pattern {pattern}"
        run.derive("use_gdn", "G" in pattern, note, run.key_of("hybrid_pattern"))
        run.derive("use_dsa", "D" in pattern, note, run.key_of("hybrid_pattern"))
    elif variant is not None and variant.known:
        note = f"attention variant {variant.value}"
        run.derive("use_gdn", variant.value == "gated_delta_net", note, variant.key)
        run.derive("use_dsa", variant.value == "dsa", note, variant.key)
    if experts is not None and experts.known:
        note = f"{experts.key} {experts.value}"
        run.derive("is_moe", bool(whole(experts.value)), note, experts.key)
    coefficient = run.settings.get("moe_z_loss_coef")
    if coefficient is not None and coefficient.known:
        run.derive("moe_zloss", bool(coefficient.value), f"{coefficient.value}", coefficient.key)


def open_fields(run: RunConfig, fields: Sequence[str], reason: str) -> None:
    """Defaults that something else replaces are not known."""
    for name in fields:
        setting = run.settings.get(name)
        if setting is not None and setting.origin == DEFAULT:
            run.settings[name] = replace(setting, value=Unresolved("", (reason,)))


def derive_accumulation(run: RunConfig) -> None:
    """Micro-batches of one rank per optimizer step, where they are of a fixed size."""
    if run.value("use_dynamic_bsz") is not True:
        steps, formula = micro_steps(run, whole(run.value("train_batch_samples")))
        run.derive("gradient_accumulation", steps, formula, run.key_of("train_batch_samples"))


def micro_steps(run: RunConfig, samples: int | None) -> tuple[int | None, str]:
    """Micro-batches of one rank in one optimizer step, with the formula."""
    micro, data_parallel = whole(run.value("micro_batch_per_gpu")), whole(run.value("data_parallel_size"))
    if not samples or not micro or not data_parallel or samples % (micro * data_parallel):
        return None, ""
    return samples // (micro * data_parallel), f"{samples} / ({micro} x {data_parallel} ranks)"
