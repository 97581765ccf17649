"""What TRL and transformers make of the arguments after reading them (`__post_init__`, the trainer), by version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...store.versions import in_range
from ..run_config import DEFAULT, DERIVED, RunConfig, Setting
from ..values import Unresolved
from . import accelerate
from .common import Options, dtype, left_open, product, whole
from .trl_arguments import Arguments

_MODEL_FIELDS = (
    "model", "model_dtype", "trust_remote_code", "attn_implementation", "lora_rank", "lora_alpha", "target_modules",
)  # fmt: skip


def after_init(run: RunConfig, kind: str, version: str) -> None:
    """What `__post_init__` and the trainer make of the arguments."""
    fp16 = run.value("fp16")
    if in_range(version, ">=0.19.0"):
        _set_if_open(run, "bf16", None if fp16 is None else not fp16, "true unless fp16 is set")
    _set_if_open(run, "clip_ratio_high", run.value("clip_ratio"), "epsilon_high unset: as epsilon")
    _set_if_open(run, "group_size_eval", run.value("group_size"), "num_generations_eval unset: as num_generations")
    recompute = run.native.get("activation_checkpointing")
    _set_if_open(run, "gradient_checkpointing", recompute.value if recompute else False, "as activation_checkpointing")
    normal_optimizer(run)
    _rewards(run)
    _fused_loss(run, version)
    beta = run.value("kl_coef")
    if kind == "rloo":
        run.derive("use_kl_in_reward", None if beta is None else beta != 0, "beta", run.key_of("kl_coef"))
        run.derive("kl_reward_coef", beta, "beta", run.key_of("kl_coef"))
        run.derive("use_kl_loss", False, "RLOO subtracts the KL from the reward", run.key_of("kl_coef"))
    else:
        run.derive("use_kl_loss", None if beta is None else beta != 0, "beta", run.key_of("kl_coef"))
    run.derive("ref_policy", None if beta is None else beta != 0, "beta", run.key_of("kl_coef"))
    run.derive("adv_estimator", "rloo" if kind == "rloo" else "grpo", f"the {kind.upper()} trainer")
    run.derive("use_critic", False, f"the {kind.upper()} trainer has no value model")
    _rollout(run, version)


def _set_if_open(run: RunConfig, name: str, value: Any, note: str) -> None:
    setting = run.settings.get(name)
    if setting is not None and left_open(setting):
        run.derive(name, value, note, setting.key)


def normal_optimizer(run: RunConfig) -> None:
    """One name for the implementations of an optimizer: adamw_torch_fused -> adamw."""
    setting = run.settings.get("optimizer")
    if setting is None:
        return
    if isinstance(setting.value, Unresolved) and setting.origin == DEFAULT:
        setting.value = "adamw"  # adamw_torch or adamw_torch_fused, by the torch release
    elif isinstance(setting.value, str):
        setting.value = re.sub(
            r"_(torch(_fused|_npu_fused|_xla|_4bit|_8bit)?|hf|apex_fused|anyprecision)$", "", setting.value
        )


def _fused_loss(run: RunConfig, version: str) -> None:
    """From 0.25 to 1.13 the switch for Liger's kernels also puts Liger's loss in the place of TRL's own."""
    kernels, loss = run.settings.get("use_liger"), run.settings.get("use_liger_loss")
    if in_range(version, ">=0.25.0,<1.14.0") and kernels is not None and (loss is None or left_open(loss)):
        run.set_explicit_like("use_liger_loss", kernels, kernels.value)


def _rewards(run: RunConfig) -> None:
    setting = run.settings.get("scale_rewards")
    if setting is None:
        return
    if isinstance(setting.value, bool):
        setting.value = "group" if setting.value else "none"
    if isinstance(setting.value, str):
        run.derive("norm_adv_by_std", setting.value in ("group", "batch"), "scale_rewards", setting.key)


def _rollout(run: RunConfig, version: str) -> None:
    vllm = run.value("use_vllm")
    if vllm is None:
        return
    run.derive("rollout_engine", "vllm" if vllm else "hf", "use_vllm", run.key_of("use_vllm"))
    mode = run.native.get("vllm_mode")
    if not vllm:
        run.derive("colocate", False, "no vLLM: the model in training generates", run.key_of("use_vllm"))
        return
    if in_range(version, ">=0.18.0"):
        run.keys["rollout_mode"] = run.keys["colocate"] = "vllm_mode"
        default = "colocate" if in_range(version, ">=1.0.0") else "server"
        found = mode or Setting("rollout_mode", "vllm_mode", default, DEFAULT, version=f"trl {version}")
        run.set_explicit_like("rollout_mode", found, found.value)
        if found.known:
            run.set_explicit_like("colocate", found, found.value == "colocate")
    else:
        own_server = in_range(version, ">=0.16.0")
        run.derive("rollout_mode", "server" if own_server else "separate", "before TRL 0.18", run.key_of("use_vllm"))
        run.derive("colocate", False, "before TRL 0.18", run.key_of("use_vllm"))
    if run.value("sleep_mode") is True:
        run.derive("sleep_level", 2 if in_range(version, ">=0.25.0") else 1, "fixed in TRL", run.key_of("sleep_mode"))
    since = {"colocate": ">=0.24.0", "server": ">=0.27.1"}.get(str(run.value("rollout_mode")))
    if since is not None:
        processed = in_range(version, since)
        run.derive("logprobs_mode", "processed_logprobs" if processed else "raw_logprobs", "fixed in TRL", "vllm_mode")


def model(run: RunConfig, kind: str, arguments: Arguments, version: str, options: Options) -> None:
    """Model, its dtype and its adapter. ModelConfig's defaults hold only where ModelConfig is surely read."""
    if arguments.reader not in ("trl", "file"):
        for name in _MODEL_FIELDS:
            setting = run.settings.get(name)
            if setting is not None and setting.origin == DEFAULT:
                run.settings[name] = replace(setting, value=Unresolved("", (setting.key,)), version="")
    _lora(run, arguments)
    _dtype(run, kind, arguments, version, options)
    if (quantized := run.native.get("load_in_4bit")) is not None and quantized.value is True:
        run.set_explicit_like("quantization", quantized, "int4")
    run.settings.pop("load_in_4bit", None)


def _lora(run: RunConfig, arguments: Arguments) -> None:
    use = run.native.get("use_peft")
    if use is not None and use.value is True:
        return
    if use is not None and isinstance(use.value, Unresolved):
        value: Any = use.value
    elif use is None and arguments.reader in ("script", "python"):
        value = Unresolved("", ("use_peft",))
    else:
        value = 0
    place = use or Setting("lora_rank", _named(run, arguments, "use_peft"), False, DEFAULT)
    run.settings["lora_rank"] = Setting(
        "lora_rank", place.key, value, DERIVED, place.file, place.line, note="no adapter" if value == 0 else ""
    )
    for name in ("lora_alpha", "target_modules"):
        run.settings.pop(name, None)


def _named(run: RunConfig, arguments: Arguments, key: str) -> str:
    return f"--{key}" if arguments.reader in ("trl", "script") else key


def _dtype(run: RunConfig, kind: str, arguments: Arguments, version: str, options: Options) -> None:
    """dtype in which the model is loaded: model_init_kwargs over ModelConfig over what the version does without."""
    keys = ("model_init_kwargs.dtype", "model_init_kwargs.torch_dtype", "dtype", "torch_dtype")
    found = next((run.native[key] for key in keys if key in run.native), None)
    nested = run.native.get("model_init_kwargs")
    if nested is not None and isinstance(nested.value, Mapping):
        inner = next((nested.value[key] for key in ("dtype", "torch_dtype") if key in nested.value), None)
        found = replace(nested, value=inner) if inner is not None else found
    if found is not None:
        run.settings["model_dtype"] = replace(found, field="model_dtype", value=dtype(found.value))
        return
    key = run.key_of("model_dtype")
    value: Any = Unresolved("", (key,))
    if kind != "other" and in_range(version, ">=0.27.0") and _loads_by_name(run, arguments):
        value = "float32"
    elif kind != "other" and in_range(version, "<0.26.0") and arguments.reader == "trl":
        transformers = options.versions.get("transformers")
        value = "float32" if transformers and in_range(transformers, "<5.0.0") else value
    run.settings["model_dtype"] = Setting("model_dtype", key, value, DEFAULT, version=f"trl {version}")


def _loads_by_name(run: RunConfig, arguments: Arguments) -> bool:
    """Whether TRL loads the model itself, from a name."""
    return arguments.reader == "trl" or (arguments.reader == "python" and "model_name_or_path" in run.native)


def batch_sizes(run: RunConfig, version: str) -> None:
    """Samples per generation and per optimizer step, as GRPOConfig.__post_init__ computes them."""
    accelerate.derive_ranks(run)
    world, micro = whole(run.value("world_size")), whole(run.value("micro_batch_per_gpu"))
    accumulation = whole(run.value("gradient_accumulation"))
    run.derive("train_batch_samples", product(micro, world, accumulation), "micro-batch x processes x accumulation")
    if in_range(version, ">=0.17.0"):
        generation_sizes(run)


def generation_sizes(run: RunConfig) -> None:
    """Samples per generation, and micro-steps that share them: one follows from the other, both from accumulation."""
    world, micro = whole(run.value("world_size")), whole(run.value("micro_batch_per_gpu"))
    accumulation = whole(run.value("gradient_accumulation"))
    size, steps = run.settings.get("generation_batch_size"), run.settings.get("steps_per_generation")
    size_open, steps_open = left_open(size), left_open(steps)
    if steps_open and size_open:
        run.derive(
            "steps_per_generation", accumulation, "as gradient_accumulation_steps", run.key_of("steps_per_generation")
        )
    elif steps_open and size is not None:
        per_step, samples = product(micro, world), whole(size.value)
        if per_step and samples:
            run.derive("steps_per_generation", samples // per_step, "generation batch over micro-batch and processes")
    if size_open:
        total = product(micro, world, run.value("steps_per_generation"))
        run.derive("generation_batch_size", total, "micro-batch x processes x steps_per_generation")
        if total is None:
            missing = run.key_of("world_size" if world is None else "micro_batch_per_gpu")
            key = run.key_of("generation_batch_size")
            open_value = Unresolved("", (missing,))
            run.settings["generation_batch_size"] = Setting("generation_batch_size", key, open_value, DEFAULT)
