"""TRL: GRPO and RLOO through the TRL command, a script of the user's, a config file or calls in Python.

trl_arguments.py reads the trainer's arguments, trl_defaults.py knows what TRL makes of them, trl_launch.py adds what
stands around them: accelerate, torchrun or deepspeed with a ds_config.
"""

from __future__ import annotations

import re
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig
from . import trl_arguments, trl_defaults, trl_launch
from .common import Options, apply_options, derive_moe, fill, product, start_run, whole
from .hf_arguments import as_flags, label_below
from .trl_arguments import Arguments

# Arguments that only TRL's online trainers have, and those shared with every HF Trainer script
_OWN = {
    "num_generations", "max_completion_length", "steps_per_generation", "generation_batch_size", "num_iterations",
    "scale_rewards", "epsilon_high", "reward_weights", "reward_funcs", "use_vllm", "vllm_mode", "vllm_server_host",
    "vllm_gpu_memory_utilization", "vllm_tensor_parallel_size", "mask_truncated_completions", "log_completions",
    "importance_sampling_level", "ref_model_sync_steps", "vllm_importance_sampling_correction", "rloo_k",
}  # fmt: skip
_SHARED = {
    "per_device_train_batch_size", "gradient_accumulation_steps", "model_name_or_path", "output_dir", "learning_rate",
    "num_train_epochs", "max_steps", "bf16", "gradient_checkpointing", "dataset_name", "beta", "max_prompt_length",
}  # fmt: skip
_OTHERS = {"rlhf_type", "tuner_type", "train_type", "finetuning_type", "stage", "actor_rollout_ref", "defaults"}
_FRAGMENT = 5  # a file with no more keys may be a few lines out of a config
_CALLS = ("GRPOConfig", "RLOOConfig", "GRPOTrainer", "RLOOTrainer")
_OTHER_CALLS = re.compile(r"(SFT|DPO|KTO|Reward|ORPO|CPO|GKD|OnlineDPO|Distillation)(Config|Trainer)$")
_FOREIGN = re.compile(r"^(swift|megatron|vllm|sglang|ray|openrlhf|verl|axolotl|llamafactory|rl )")
_SCRIPT = re.compile(r"(^|[/.])(train_)?(grpo|rloo)(_train(er)?)?(\.py)?$")


def claims(part: Part) -> int:
    """The TRL command and TRL's config calls for certain; a script or YAML by arguments that only TRL has."""
    if part.format == "python":
        name = part.program.rsplit(".", 1)[-1]
        return 100 if name in _CALLS else 60 if _OTHER_CALLS.search(name) else 0
    if part.format == "shell":
        return _claims_command(part)
    if part.format not in ("yaml", "json") or not isinstance(part.data, dict):
        return 0
    keys = {key for key in part.data if isinstance(key, str)}
    own, shared = len(keys & _OWN), len(keys & _SHARED)
    if keys & _OTHERS or not own:
        return 0
    if shared or own > 1:
        return 95 if shared else 60
    return 30 if len(keys) <= _FRAGMENT else 0


def _claims_command(part: Part) -> int:
    program = part.program
    if program.startswith("trl "):
        return 100 if program in ("trl grpo", "trl rloo") else 80
    if "trl.scripts." in program.replace("/", "."):
        return 95
    if _FOREIGN.match(program) or not trl_arguments.is_trainer(part):
        return 0
    flags = {key.lstrip("-").replace("-", "_") for key in sorted(part.keys()) if key.startswith("--")}
    own, shared = len(flags & _OWN), len(flags & _SHARED)
    enough = own + shared > 1 or (not program and len(flags) <= _FRAGMENT)
    if own and enough and not flags & _OTHERS:
        return min(50 + 10 * own + 2 * shared, 90)
    named = _SCRIPT.search(program) is not None and not any(
        "=" in entry.text and "." in entry.key for entry in part.entries
    )
    return 45 if named and shared > 1 else 35 if named and "config" in flags else 0


def build(parts: list[Part], options: Options) -> RunConfig:
    """A run from the trainer's arguments and the launch around it."""
    run = start_run("trl", parts, options)
    kind = _kind(parts)
    if kind == "serve":
        return _build_server(run, parts, options)
    table = trl_arguments.tables(kind, options)
    arguments = trl_arguments.read(parts, table, options, run)
    run.native = arguments.rest | arguments.settings
    run.partial = arguments.partial
    run.notes += [note for note in (table.note, table.below.note if table.below else "") if note]
    if kind == "other":
        run.notes.append("not a GRPO or RLOO trainer: only what was written is known, TRL's defaults for it are not")
    _fill(run, kind, arguments, table)
    if kind != "other":
        trl_arguments.judge(run, arguments, table, options)
        trl_defaults.after_init(run, kind, table.version)
    trl_defaults.model(run, kind, arguments, table.version, options)
    trl_launch.apply(run, parts, arguments, options)
    apply_options(run, options)
    if kind != "other":
        trl_defaults.batch_sizes(run, table.version)
    derive_moe(run)
    apply_options(run, options)
    return run


def _kind(parts: list[Part]) -> str:
    """grpo, rloo, serve (the vLLM server), or other (SFT, DPO ...)."""
    programs = [part.program for part in parts]
    if "trl vllm-serve" in programs or any("vllm_serve" in name for name in programs):
        return "serve"
    command = next((name.removeprefix("trl ") for name in programs if name.startswith("trl ")), "")
    if command:
        return command if command in ("grpo", "rloo") else "other"
    calls = {part.program.rsplit(".", 1)[-1] for part in parts if part.format == "python"}
    keys = {key.lstrip("-").replace("-", "_") for part in parts for key in sorted(part.keys())}
    scripts = " ".join(part.program for part in parts if part.format == "shell")
    if calls & {"RLOOConfig", "RLOOTrainer"} or "rloo_k" in keys or "rloo" in scripts:
        return "rloo"
    return "grpo" if calls & set(_CALLS) or keys & _OWN or "grpo" in scripts else "other"


def _build_server(run: RunConfig, parts: list[Part], options: Options) -> RunConfig:
    """`trl vllm-serve`: only the rollout engine; the trainer runs elsewhere."""
    table = load("trl", ["vllm_serve"], options.versions.get("trl"))
    run.notes += [table.note] if table.note else []
    program = next(part for part in parts if part.program.startswith("trl ") or "vllm_serve" in part.program)
    run.native = trl_arguments.flag_settings(program, table, run.lints)
    fill(run, adapter_data("trl")["serve_fields"], table, f"trl {table.version}")
    as_flags(run)
    run.derive("rollout_engine", "vllm", "trl vllm-serve")
    run.derive("rollout_mode", "server", "trl vllm-serve")
    apply_options(run, options)
    return run


def _fill(run: RunConfig, kind: str, arguments: Arguments, table: KeyTable) -> None:
    known = kind != "other" and arguments.complete
    fields = dict(adapter_data("trl")["fields"])
    version = f"{table.package} {table.version}"
    fill(run, fields, table if kind != "other" else None, version, defaults_known=known)
    label_below(run, table)
    if arguments.reader in ("trl", "script"):
        as_flags(run)


def batch(run: RunConfig) -> dict[str, Any]:
    """Batch table; a step is one generation with the optimizer steps on it."""
    group, world = whole(run.value("group_size")), whole(run.value("world_size"))
    micro, accumulation = whole(run.value("micro_batch_per_gpu")), whole(run.value("gradient_accumulation"))
    samples, steps = whole(run.value("generation_batch_size")), whole(run.value("steps_per_generation"))
    iterations = whole(run.value("num_iterations")) or 1
    table: dict[str, Any] = {}
    formula: dict[str, str] = {}
    if accumulation is not None:
        table["micro_steps"] = accumulation
    if micro and accumulation:
        table["samples_per_gpu"], formula["samples_per_gpu"] = micro * accumulation, f"{micro} x {accumulation}"
    if micro and accumulation and world:
        table["samples_per_optimizer_step"] = micro * accumulation * world
        formula["samples_per_optimizer_step"] = f"{micro} x {accumulation} x {world}"
    if samples:
        table["samples_per_step"] = samples
        formula["samples_per_step"] = f"{micro} x {world} x {steps}" if product(micro, world, steps) == samples else ""
    if samples and group and samples % group == 0:
        table["prompts_per_step"], formula["prompts_per_step"] = samples // group, f"{samples} / {group}"
    if steps and accumulation and steps * iterations % accumulation == 0:
        table["optimizer_steps_per_rollout"] = steps * iterations // accumulation
        formula["optimizer_steps_per_rollout"] = f"{steps} x {iterations} / {accumulation}"
    prompt, response = whole(run.value("max_prompt_length")), whole(run.value("max_response_length"))
    if samples and prompt and response:
        table["tokens_per_step"] = samples * (prompt + response)
        formula["tokens_per_step"] = f"{samples} x ({prompt} + {response})"
    return {**table, "formula": {name: text for name, text in formula.items() if text}} if table else {}
