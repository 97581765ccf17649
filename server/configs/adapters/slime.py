"""slime: `train.py` and `train_async.py` with Megatron's flags, slime's own and SGLang's behind a prefix.

slime parses with `ignore_unknown_args`, so a misspelt flag does nothing and says nothing.
"""

from __future__ import annotations

import re
from typing import Any

from ...store.index import adapter as adapter_data
from ...store.pins import built
from ...store.versions import parse
from ..keys import KeyTable, load
from ..keys_data import key_data
from ..parts import Part
from ..run_config import DEFAULT, RunConfig
from ..values import Unresolved
from .common import Options, apply_options, derive_moe, product, start_run, whole
from .megatron_common import (
    LAUNCHERS,
    FlagNames,
    Given,
    derive_accumulation,
    derive_parallelism,
    derive_training,
    fill_flags,
    given_flags,
    micro_steps,
)
from .native import Names, fill_named, flags_of, given_settings, judge_choices, judge_names
from .sglang import derive_server

_PREFIX = "sglang-"


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch command."""
    run = start_run("slime", parts, options)
    programs = [part for part in parts if part.program not in LAUNCHERS]
    data, stated = adapter_data("slime"), options.versions.get("slime")
    table = _table(run, data, options)
    names = FlagNames(table, "slime")
    run.notes += [table.note] if table.note else []
    given = given_flags(programs, names, run)
    if not any(part.program for part in programs):
        run.partial = "only a part of the run was given"
    _fill(run, data, given, names)
    _judge(run, data, given, names, stated)
    _engine(run, data, programs, names)
    _derive(run, data, given)
    apply_options(run, options)
    _derive_sizes(run)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """One rollout and the optimizer steps on it, as slime's argument check and its data schedule count them."""
    prompts, group = whole(run.value("rollout_batch_prompts")), whole(run.value("group_size"))
    samples, step = product(prompts, group), whole(run.value("train_batch_samples"))
    table: dict[str, Any] = {"prompts_per_step": prompts, "samples_per_step": samples}
    formula = {"samples_per_step": f"{prompts} x {group}"}
    table["samples_per_optimizer_step"] = step
    if samples and step:
        table["optimizer_steps_per_rollout"] = samples // step
        formula["optimizer_steps_per_rollout"] = f"{samples} // {step}"
    tokens = product(samples, run.value("max_response_length"))
    if tokens is not None:
        table["response_tokens_per_step"] = tokens
        formula["response_tokens_per_step"] = f"at most {samples} x {run.value('max_response_length')}"
    if run.value("use_dynamic_bsz") is False:
        table["micro_steps"], formula["micro_steps"] = micro_steps(run, step)
    table = {name: value for name, value in table.items() if value is not None}
    return {**table, "formula": {name: text for name, text in formula.items() if name in table}} if table else {}


def _table(run: RunConfig, data: dict[str, Any], options: Options) -> KeyTable:
    """slime's options over those of the Megatron that the release builds, whose version is noted when none is given."""
    stated, megatron = options.versions.get("slime"), options.versions.get("megatron-core")
    own = key_data("slime")
    version = own.versions[own.nearest(stated)[0]]
    pinned = built(data, "megatron-core", version)
    if stated is not None and megatron is None and "build" in pinned:
        run.versions["megatron-core"] = pinned["build"]
        run.notes.append(f"slime {version} builds megatron-core {pinned['build']} (docker/Dockerfile); it is assumed")
    below = load("megatron", ["arguments"], megatron or pinned["flags"])
    return load("slime", ["arguments", "patched"], stated, below)


def _fill(run: RunConfig, data: dict[str, Any], given: Given, names: FlagNames) -> None:
    fields = {
        name: flags
        for name, flags in adapter_data("megatron")["fields"].items()
        if name not in data["without"] and name not in data["fields"]
    }
    fill_flags(run, {**fields, **data["fields"]}, given, names, "slime")


def _judge(run: RunConfig, data: dict[str, Any], given: Given, names: FlagNames, stated: str | None) -> None:
    """Flags that no parser of slime takes. slime builds a patched commit of Megatron, so a flag of Megatron counts as
    unknown only when no release of it has the flag."""
    if run.value("train_backend") == "fsdp":
        run.notes.append("--train-backend fsdp: the options of that back end are not checked")
        return
    megatron = load("megatron", ["arguments"])
    mine = {
        name: setting
        for name, setting in given.items()
        if not name.startswith(tuple(data["prefixes"])) and megatron.lifecycle(name) is None
    }
    judge_names(run, mine, names, stated, stops=False)
    for row in run.unknown_keys:
        row.note = f"{row.note}; slime ignores it without a message"
    judge_choices(run, mine, names, stated)


def _engine(run: RunConfig, data: dict[str, Any], programs: list[Part], names: FlagNames) -> None:
    """SGLang's options, which its own parser reads behind a prefix: its names, choices and defaults."""
    stated, own = run.versions.get("sglang"), data["sglang_own"]
    engine = Names(load("sglang", ["ServerArgs", "server"], stated), "SGLang", prefix=_PREFIX)
    entries = [
        entry
        for entry in flags_of(programs)
        if (flag := entry.key.lstrip("-")).startswith(_PREFIX)
        and not names.table.known(flag)
        and not flag.startswith(tuple(own))
    ]
    given = given_settings(entries, engine, [])
    others = {*run.keys, "rollout_tensor_parallel"}  # what slime has settings of its own for
    fields = {name: spelled for name, spelled in adapter_data("sglang")["fields"].items() if name not in others}
    fill_named(run, fields, given, engine)
    derive_server(run)
    if "weights_cpu_backup" in run.settings and parse(names.table.version) >= parse(data["draft_backup_since"]):
        run.settings.pop("weights_cpu_backup")  # the draft has one of its own
        run.keys.pop("weights_cpu_backup")
    judge_names(run, given, engine, stated, stops=False)
    judge_choices(run, given, engine, stated)
    for row in run.unknown_keys:
        if row.key.startswith(f"--{_PREFIX}"):
            row.note = f"{row.note}; slime ignores it without a message"


def _derive(run: RunConfig, data: dict[str, Any], given: Given) -> None:
    run.derive("rollout_engine", "sglang", "slime samples with SGLang")
    run.derive("use_distributed_optimizer", True, "slime always sets it")
    if "bf16" not in given and isinstance(half := run.value("fp16"), bool):
        run.derive("bf16", not half, "slime trains in bf16 unless --fp16 is given")
    _derive_algorithm(run, data)
    _derive_offload(run)
    derive_training(run)
    if (
        "use_gdn" in run.settings
        and isinstance(name := run.value("model"), str)
        and re.search(data["gdn_models"], name)
    ):
        run.derive("use_gdn", True, f"from the model name {name!r}", run.key_of("model"))
    if "num-experts" not in given:
        run.settings.pop("is_moe", None)  # the model's arguments may stand in a file that was not found
        run.settings.pop("n_experts", None)
        derive_moe(run)
    if (top := run.settings.get("rollout_router_replay")) is not None and top.value is True:
        run.set_explicit_like("router_replay", top, True)


def _derive_algorithm(run: RunConfig, data: dict[str, Any]) -> None:
    if run.value("loss_type") == "sft_loss":
        run.settings.pop("adv_estimator", None)  # nothing is sampled
    estimator, key = run.settings.get("adv_estimator"), run.key_of("adv_estimator")
    if estimator is not None and isinstance(estimator.value, str):
        run.derive("use_critic", estimator.value == "ppo", f"estimator {estimator.value}", key)
        if estimator.value in ("gspo", "cispo"):
            run.derive("loss_type", estimator.value, f"estimator {estimator.value}", key)
        estimator.value = {"ppo": "gae", "gspo": "grpo", "cispo": "grpo"}.get(estimator.value, estimator.value)
    upper, lower = run.settings.get("clip_ratio_high"), run.settings.get("clip_ratio")
    if upper is not None and upper.value is None and lower is not None:
        run.derive("clip_ratio_high", lower.value, f"unset: {lower.key}", upper.key)
    in_reward, in_loss = run.value("kl_reward_coef"), run.value("use_kl_loss")
    if isinstance(in_reward, int | float):
        run.derive("use_kl_in_reward", in_reward != 0, f"coefficient {in_reward}", run.key_of("kl_reward_coef"))
        if isinstance(in_loss, bool):
            note = "a KL term in the loss or the reward"
            run.derive("ref_policy", in_loss or in_reward != 0, note, run.key_of("use_kl_loss"))
    if (correction := run.settings.get("rollout_is")) is not None and isinstance(correction.value, bool):
        correction.value = "token" if correction.value else None
    filtered = run.settings.get("filter_groups")
    if filtered is not None and filtered.known:
        filtered.value = filtered.value is not None


def _derive_offload(run: RunConfig) -> None:
    """Colocation, and `--offload`, switch both directions of offloading on where they are not set."""
    shared, both = run.value("colocate"), run.value("offload")
    if not isinstance(shared, bool):
        return
    for name in ("offload_train", "free_cache_engine"):
        setting = run.settings.get(name)
        if setting is not None and (setting.value is None or both is True):
            key = run.key_of("offload" if both is True else "colocate")
            run.derive(name, shared or both is True, f"colocate {str(shared).lower()}", key)


def _derive_sizes(run: RunConfig) -> None:
    if "world_size" not in run.settings:
        world = product(run.value("nnodes"), run.value("n_gpus"))
        run.derive("world_size", world, f"{run.key_of('nnodes')} x {run.key_of('n_gpus')}", run.key_of("n_gpus"))
    derive_parallelism(run)
    samples = product(run.value("rollout_batch_prompts"), run.value("group_size"))
    step, rounds = run.settings.get("train_batch_samples"), whole(run.value("steps_per_rollout"))
    if step is not None and step.value is None and step.origin == DEFAULT:
        if samples and rounds:
            note = f"{run.key_of('rollout_batch_prompts')} x {run.key_of('group_size')} / {rounds}"
            run.derive("train_batch_samples", samples // rounds, note, step.key)
        elif run.value("steps_per_rollout", Unresolved) is None:
            total = product(run.value("micro_batch_per_gpu"), run.value("data_parallel_size"))
            run.derive("train_batch_samples", total, "unset: micro-batch x data-parallel size", step.key)
    derive_accumulation(run)
    tensor = whole(run.value("rollout_gpus_per_engine"))
    stages = whole(run.value("rollout_pipeline_parallel")) or 1
    if tensor and tensor % stages == 0:
        note = f"{run.key_of('rollout_gpus_per_engine')} / {stages} pipeline stages"
        run.derive("rollout_tensor_parallel", tensor // stages, note, run.key_of("rollout_gpus_per_engine"))
