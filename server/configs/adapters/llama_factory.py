"""LLaMA-Factory: `llamafactory-cli train x.yaml`, with overrides behind it, or flags.

It has no GRPO: stage ppo is its only online trainer. What every run has (batch, precision, DeepSpeed, LoRA, unknown
keys) is checked for all stages.
"""

from __future__ import annotations

import re
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig
from . import accelerate, hf_arguments, launchers, recognised, trl, trl_defaults, trl_launch
from .common import Options, apply_options, derive_moe, fill, left_open, product, start_run, whole
from .native import Names, judge_choices
from .trl_arguments import Arguments

claims = recognised.claims
_PROGRAMS = re.compile(r"^llamafactory-cli|^lmf |llamafactory|train_bash|(^|/)src/train\.py$")
_ONLINE = ("temperature", "top_p", "top_k", "reward_model", "max_response_length", "repetition_penalty")


def build(parts: list[Part], options: Options) -> RunConfig:
    """A run from the YAML (or flags) and the launch around it."""
    options = hf_arguments.with_version_of(options, "llamafactory", "llama-factory")
    run = start_run("llama-factory", parts, options)
    program = hf_arguments.trainer_of(parts, _PROGRAMS)
    below = load("transformers", ["TrainingArguments"], options.versions.get("transformers"))
    table = load("llama-factory", ["train"], options.versions.get("llamafactory"), below)
    given = hf_arguments.read(parts, program, table, options, run)
    hf_arguments.add_overrides(given, program, table, run)
    run.native = given.rest | given.settings
    run.notes += [note for note in (table.note, below.note) if note]
    if program is None and "model_name_or_path" not in given.settings:
        run.partial = "only a part of the run was given"
    fill(run, adapter_data("llama-factory")["fields"], table, f"LLaMA-Factory {table.version}", given.complete)
    hf_arguments.label_below(run, table)
    if not _other_arguments(run):
        hf_arguments.judge(run, given.rest, table, stops="ALLOW_EXTRA_ARGS" not in run.env)
    names = Names(table, "LLaMA-Factory", flags=False)
    judge_choices(run, given.settings, names, options.versions.get("llamafactory"))
    _derive(run, table)
    _launch(run, parts, options)
    apply_options(run, options)
    _sizes(run)
    derive_moe(run)
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Samples per optimizer step; what one generation yields has no setting here."""
    return trl.batch(run)


def _other_arguments(run: RunConfig) -> bool:
    """Whether other packages may bring arguments of their own.

    USE_MCA=1 puts Megatron's in the place of transformers', and a YAML does not say whether it is set; use_kt needs a
    transformers of its own.
    """
    kt = run.native.get("use_kt")
    if "USE_MCA" in run.env or (kt is not None and kt.value is not False):
        return True
    return any(key in run.native for key in adapter_data("llama-factory")["megatron_signs"])


def _derive(run: RunConfig, table: KeyTable) -> None:
    trl_defaults.normal_optimizer(run)
    stage = run.native.get("stage")
    if stage is not None and stage.value == "ppo":
        run.derive("adv_estimator", "gae", "stage ppo", stage.key)
        run.derive("use_critic", True, "PPO trains a value head", stage.key)
        run.derive("rollout_engine", "hf", "the model in training generates", stage.key)
        run.derive("colocate", False, "the model in training generates", stage.key)
    else:
        run.notes.append("LLaMA-Factory has no GRPO; its only online trainer is stage ppo")
        for name in _ONLINE:
            run.settings.pop(name, None)
    _adapter(run)
    _precision(run)


def _adapter(run: RunConfig) -> None:
    kind = run.settings.pop("adapter_type", None)
    if kind is not None and kind.known and kind.value != "lora":
        run.set_explicit_like("lora_rank", kind, 0)
        for name in ("lora_alpha", "target_modules"):
            run.settings.pop(name, None)
    alpha, rank = run.settings.get("lora_alpha"), whole(run.value("lora_rank"))
    if alpha is not None and left_open(alpha) and rank:
        run.derive("lora_alpha", 2 * rank, "twice the rank where none is given", alpha.key)


def _precision(run: RunConfig) -> None:
    pure = run.native.get("pure_bf16")
    if pure is not None and pure.value is True:
        run.set_explicit_like("model_dtype", pure, "bfloat16")


def _launch(run: RunConfig, parts: list[Part], options: Options) -> None:
    if launchers.world_size(parts) is None and not any(part.program == "accelerate launch" for part in parts):
        launchers.record(run, hf_arguments.processes_of_environment(run))
    trl_launch.apply(run, parts, Arguments("script", run.native), options)
    hf_arguments.replicas_without_config(run)
    size = run.settings.get("world_size")
    if size is not None and not size.known and size.key == "--num_processes":
        run.settings["world_size"] = hf_arguments.open_setting("world_size", "NPROC_PER_NODE")
        run.keys["world_size"] = "NPROC_PER_NODE"


def _sizes(run: RunConfig) -> None:
    accelerate.derive_ranks(run)
    sizes = (run.value("micro_batch_per_gpu"), run.value("world_size"), run.value("gradient_accumulation"))
    run.derive("train_batch_samples", product(*sizes), "micro-batch x processes x accumulation")
