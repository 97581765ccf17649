"""Megatron-LM: the flags of `pretrain_*.py` and `train_rl.py`, and the `MODEL_ARGS:` YAML of its functional tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..keys_data import key_data
from ..parts import Part
from ..run_config import RunConfig
from . import launchers
from .common import Options, apply_options, product, start_run, whole
from .megatron_common import (
    LAUNCHERS,
    FlagNames,
    derive_accumulation,
    derive_parallelism,
    derive_training,
    fill_flags,
    given_flags,
    likely_slips,
    micro_steps,
    open_fields,
    read_environment,
)
from .native import judge_choices, judge_names

_PROGRAM = re.compile(r"(pretrain_\w+|train_rl)\.py$")
_NO_TRAINING = re.compile(r"inference|generat|server|convert|eval|export|quantiz|prune|prepare|preprocess|extract|mmlu")
# What `--use-checkpoint-args` takes from the checkpoint instead (load_args_from_checkpoint)
_FROM_CHECKPOINT = (
    "n_layers", "n_heads", "seq_length", "max_position_embeddings", "n_experts", "moe_top_k", "mtp_layers",
    "moe_dispatcher", "moe_grouped_gemm", "hybrid_pattern", "checkpoint_format",
)  # fmt: skip


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch or from the YAML that holds its arguments."""
    run = start_run("megatron", parts, options)
    read_environment(run, parts)
    programs = [part for part in parts if part.program not in LAUNCHERS]
    program = next((found[1] for part in programs if (found := _PROGRAM.search(part.program))), "")
    stated = options.versions.get("megatron-core")
    table, complete = _table(program, stated)
    names = FlagNames(table, "Megatron-LM")
    given = given_flags(programs, names, run)
    if (reason := _trains_nothing(programs)) and not program:
        run.notes.append(f"{reason}: Megatron's checks of training are not made")
        return run
    run.notes += [table.note] if table.note else []
    _say_partial(run, programs)
    fill_flags(run, adapter_data("megatron")["fields"], given, names, "Megatron-LM")
    judge_names(run, given if complete else likely_slips(given, table), names, stated, stops=True)
    judge_choices(run, given, names, stated)
    launchers.record(run, launchers.world_size(parts))
    if "use-checkpoint-args" in given:
        open_fields(run, _FROM_CHECKPOINT, "the checkpoint's arguments")
    derive_training(run)
    _derive_rl(run)
    apply_options(run, options)
    derive_parallelism(run)
    _derive_batch(run)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Samples and micro-steps of an optimizer step; prompts and steps of a rollout in the GRPO loop."""
    samples, tokens = whole(run.value("train_batch_samples")), None
    table: dict[str, Any] = {}
    formula: dict[str, str] = {}
    if run.value("rl_training") is True:
        prompts, group = whole(run.value("rollout_batch_prompts")), whole(run.value("group_size"))
        collected, rounds = product(prompts, group), whole(run.value("ppo_epochs"))
        table |= {"prompts_per_step": prompts, "samples_per_step": collected}
        formula["samples_per_step"] = f"{prompts} x {group}"
        if collected and rounds and samples and collected * rounds % samples == 0:
            table["optimizer_steps_per_rollout"] = collected * rounds // samples
            formula["optimizer_steps_per_rollout"] = f"{collected} x {rounds} / {samples}"
    table["samples_per_optimizer_step"] = samples
    if (tokens := product(samples, run.value("seq_length"))) is not None:
        table["tokens_per_step"], formula["tokens_per_step"] = tokens, f"{samples} x {run.value('seq_length')}"
    steps, text = micro_steps(run, samples)
    table["micro_steps"], formula["micro_steps"] = steps, text
    table = {name: value for name, value in table.items() if value is not None}
    return {**table, "formula": {name: text for name, text in formula.items() if name in table}} if table else {}


def _table(program: str, stated: str | None) -> tuple[KeyTable, bool]:
    """The flags of a program, and whether all of them are known (some programs add options of their own)."""
    extras: Mapping[str, list[str]] = adapter_data("megatron")["programs"]
    data = key_data("megatron")
    index = data.nearest(stated)[0]
    own = [name for name in extras.get(program, ()) if data.start(name) <= index <= data.end(name)]
    below = load("megatron", own, stated) if own else None
    return load("megatron", ["arguments"], stated, below), program in extras


def _trains_nothing(programs: list[Part]) -> str:
    """The program, or the YAML's mode, that is about something else than training; "" when none is."""
    for part in programs:
        name = part.program.rsplit("/", 1)[-1]
        if _NO_TRAINING.search(name):
            return name
        if isinstance(part.data, dict) and part.data.get("MODE") == "inference":
            return "MODE: inference"
    return ""


def _say_partial(run: RunConfig, programs: list[Part]) -> None:
    whole_run = any(part.program or "MODEL_ARGS" in (part.data or ()) for part in programs)
    if not whole_run:
        run.partial = "only a part of the run was given"


def _derive_rl(run: RunConfig) -> None:
    """The GRPO loop of train_rl.py; without it the RL flags do nothing."""
    if run.value("rl_training") is not True:
        if run.value("rl_training") is False:
            for name in ("group_size", "rollout_batch_prompts", "temperature", "top_p", "top_k", "partial_rollout"):
                run.settings.pop(name, None)
        return
    key = run.key_of("rl_training")
    run.derive("adv_estimator", "grpo", "Megatron's loop is GRPO", key)
    run.derive("use_critic", False, "Megatron's loop is GRPO", key)
    if isinstance(beta := run.value("kl_coef"), int | float):
        run.derive("use_kl_loss", beta != 0, f"KL weight {beta}", run.key_of("kl_coef"))
    if (correction := run.settings.get("rollout_is")) is not None and isinstance(correction.value, bool):
        correction.value = "token" if correction.value else None


def _derive_batch(run: RunConfig) -> None:
    """`--global-batch-size` unset is one micro-batch per data-parallel rank."""
    samples = run.settings.get("train_batch_samples")
    if samples is not None and samples.value is None:
        total = product(run.value("micro_batch_per_gpu"), run.value("data_parallel_size"))
        run.derive("train_batch_samples", total, "unset: micro-batch x data-parallel size", samples.key)
    derive_accumulation(run)
