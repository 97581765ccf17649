"""What ms-swift makes of the arguments after reading them (RLHFArguments.__post_init__, GRPOConfig), by version."""

from __future__ import annotations

from math import ceil
from typing import Any

from ...store.versions import in_range
from ..keys import KeyTable
from ..run_config import RunConfig
from . import trl_defaults
from .common import dtype, left_open, product, whole
from .hf_arguments import open_setting

_DEFAULT_BETA = 0.04  # of GRPO
_SCALES = {"grpo": "group", "rloo": "none", "reinforce_plus_plus": "batch"}
_BATCH_WITHOUT_ACCUMULATION = 16  # samples that gradient_accumulation_steps fills up to where nobody sets it


def apply(run: RunConfig, kind: str, table: KeyTable) -> None:
    """What holds after `__post_init__`, as far as the arguments decide it."""
    version = table.version
    if kind == "rollout":
        run.derive("rollout_engine", "vllm", "swift rollout")
        run.derive("rollout_mode", "server", "swift rollout")
        _off_when_null(run, "multi_turn")
        return
    trl_defaults.normal_optimizer(run)
    _adapter(run)
    _precision(run)
    algorithm = _algorithm(run)
    if algorithm == "grpo":
        _grpo(run, version)
        _rollout(run, kind, version)
        _accumulation(run, kind, version)
    elif algorithm == "ppo":
        _forget(run)
        run.derive("adv_estimator", "gae", "rlhf_type ppo", "rlhf_type")
        run.derive("use_critic", True, "PPO trains a value model", "rlhf_type")
    else:
        run.notes.append("not a GRPO or PPO run: only what holds for every trainer is checked")
        _forget(run)
    _evaluation(run)


def _forget(run: RunConfig) -> None:
    """Arguments that only GRPO reads say nothing about another run."""
    for name in _GRPO_ONLY:
        run.settings.pop(name, None)


_GRPO_ONLY = (
    "adv_estimator", "group_size", "group_size_eval", "kl_coef", "use_kl_in_reward", "loss_type", "clip_ratio",
    "clip_ratio_high", "two_sided_clip", "num_iterations", "importance_sampling_level", "scale_rewards",
    "filter_groups", "mask_truncated", "top_entropy_quantile", "off_policy_mask", "rollout_is", "sync_ref_model",
    "reward_funcs", "reward_weights", "multi_turn", "async_generate", "steps_per_generation", "generation_batch_size",
    "truncation", "use_liger_loss", "use_vllm", "rollout_mode", "rollout_engine", "rollout_tensor_parallel",
    "rollout_adapter_sync", "gpu_memory_utilization", "max_model_len", "enable_prefix_caching", "sleep_level",
)  # fmt: skip


def _algorithm(run: RunConfig) -> str:
    told = run.native.get("rlhf_type")
    if told is None:
        own = {"num_generations", "reward_funcs", "use_vllm", "vllm_mode", "steps_per_generation"} & run.native.keys()
        return "grpo" if own and run.partial else "dpo"
    return str(told.value)


def _set_if_open(run: RunConfig, name: str, value: Any, note: str) -> None:
    setting = run.settings.get(name)
    if setting is not None and left_open(setting):
        run.derive(name, value, note, setting.key)


def _adapter(run: RunConfig) -> None:
    """LoRA's rank counts only where an adapter is trained (tuner_type, train_type before 4.0)."""
    kind = run.settings.pop("adapter_type", None)
    if kind is None:
        return
    if not kind.known:
        run.settings["lora_rank"] = open_setting("lora_rank", kind.key)
    elif kind.value not in ("lora", "adalora"):
        run.set_explicit_like("lora_rank", kind, 0)
        for name in ("lora_alpha", "target_modules"):
            run.settings.pop(name, None)
    if kind.known:
        rate = 1e-5 if kind.value == "full" else 1e-4
        _set_if_open(run, "learning_rate", rate, f"{kind.key}={kind.value} and no learning rate given")


def _precision(run: RunConfig) -> None:
    """Without torch_dtype the checkpoint decides; bf16 and fp16 follow the dtype that the model is loaded in."""
    setting = run.settings.get("model_dtype")
    loaded = dtype(setting.value) if setting is not None and setting.known else None
    if setting is not None:
        if loaded is None:
            run.settings["model_dtype"] = open_setting("model_dtype", setting.key)
        else:
            setting.value = loaded
    for name, wanted in (("bf16", ("bfloat16",)), ("fp16", ("float16", "float32"))):
        own = run.settings.get(name)
        if own is None or not left_open(own):
            continue
        if loaded is None:
            run.settings[name] = open_setting(name, own.key, setting.key if setting is not None else "")
        else:
            run.derive(name, loaded in wanted, "from torch_dtype", own.key)


def _grpo(run: RunConfig, version: str) -> None:
    estimator = run.value("adv_estimator") or "grpo"
    key = run.key_of("adv_estimator")
    if "adv_estimator" not in run.settings:
        run.derive("adv_estimator", "grpo", "rlhf_type grpo", "rlhf_type")
    run.derive("use_critic", False, "GRPO has no value model", key)
    _set_if_open(run, "kl_coef", _DEFAULT_BETA, "beta of GRPO where none is given")
    _set_if_open(run, "loss_type", "grpo", "loss of GRPO where none is given")
    _set_if_open(run, "clip_ratio_high", run.value("clip_ratio"), "epsilon_high unset: as epsilon")
    _set_if_open(run, "group_size_eval", run.value("group_size"), "num_generations_eval unset: as num_generations")
    _set_if_open(run, "scale_rewards", _SCALES.get(str(estimator)), f"advantage_estimator {estimator}")
    _set_if_open(run, "use_kl_in_reward", estimator != "grpo", f"advantage_estimator {estimator}")
    _kl(run)
    scale = run.settings.get("scale_rewards")
    if scale is not None and isinstance(scale.value, bool):
        scale.value = "group" if scale.value else "none"
    if scale is not None and isinstance(scale.value, str):
        run.derive("norm_adv_by_std", scale.value in ("group", "batch", "gdpo"), "scale_rewards", scale.key)
    _off_when_null(run, "multi_turn")
    _correction(run, version)
    _replay(run)
    recompute = run.settings.get("gradient_checkpointing")
    if recompute is not None and isinstance(recompute.value, str):
        recompute.value = recompute.value.lower() == "true"


def _kl(run: RunConfig) -> None:
    """One coefficient, as a term of the loss or of the reward."""
    beta, in_reward = run.value("kl_coef"), run.value("use_kl_in_reward")
    key = run.key_of("kl_coef")
    if beta is None:
        return
    on = beta != 0
    run.derive("ref_policy", on, "beta", key)
    if in_reward is None and "use_kl_in_reward" in run.settings:
        return
    run.derive("use_kl_loss", on and not in_reward, "beta", key)
    if in_reward:
        run.derive("kl_reward_coef", beta, "beta", key)


def _correction(run: RunConfig, version: str) -> None:
    """The correction has a mode or is off; it needs vLLM 0.10.2, of which processed log-probs are asked for."""
    mode = run.settings.get("rollout_is")
    if mode is None or not mode.known:
        return
    run.set_explicit_like("rollout_is_mode", mode, mode.value)
    mode.value = mode.value is not None
    if in_range(version, ">=3.11.0"):
        run.derive("logprobs_mode", "processed_logprobs", "fixed in ms-swift", mode.key)


def _replay(run: RunConfig) -> None:
    """R2 replays the choices of the trainer's own forward, R3 those of the rollout engine."""
    mode = run.settings.get("router_replay")
    if mode is not None and isinstance(mode.value, str):
        run.set_explicit_like("rollout_router_replay", mode, mode.value == "R3")
        mode.value = mode.value != "disabled"


def _off_when_null(run: RunConfig, name: str) -> None:
    setting = run.settings.get(name)
    if setting is not None and setting.known:
        setting.value = bool(setting.value)


def _rollout(run: RunConfig, kind: str, version: str) -> None:
    vllm = run.value("use_vllm")
    if vllm is None:
        return
    run.derive("rollout_engine", "vllm" if vllm else "hf", "use_vllm", run.key_of("use_vllm"))
    if not vllm:
        run.derive("colocate", False, "no vLLM: the model in training generates", run.key_of("use_vllm"))
        if in_range(version, "<3.11.1"):
            run.settings.pop("rollout_mode", None)
        return
    _mode(run, version)
    mode = run.settings.get("rollout_mode")
    if mode is not None and mode.known and mode.value is not None:
        run.set_explicit_like("colocate", mode, mode.value == "colocate")
    level = run.settings.get("sleep_level")
    if level is not None and level.known:
        works = run.value("rollout_mode") == "colocate" and run.value("async_generate") is not True
        run.set_explicit_like("sleep_mode", level, works and level.value not in (0, None))


def _mode(run: RunConfig, version: str) -> None:
    """Before 3.11.1 the address of a server decides, whatever vllm_mode says."""
    if in_range(version, ">=3.11.1"):
        return
    server = next((run.native[key] for key in ("vllm_server_host", "vllm_server_base_url") if key in run.native), None)
    key = run.key_of("rollout_mode") if in_range(version, ">=3.5.0") else "vllm_server_host"
    if server is not None and server.value is not None:
        run.set_explicit_like("rollout_mode", server, "server")
    elif in_range(version, ">=3.5.0"):
        run.derive("rollout_mode", "colocate", "no vllm_server_host", key)
    else:
        run.settings["rollout_mode"] = open_setting("rollout_mode", "num_infer_workers")


def _accumulation(run: RunConfig, kind: str, version: str) -> None:
    if kind == "rlhf" and in_range(version, ">=3.7.0"):
        _set_if_open(run, "gradient_accumulation", 1, "GRPO accumulates over one micro-batch where none is given")


def _evaluation(run: RunConfig) -> None:
    """Evaluation follows save_strategy, and is off without data for it."""
    setting = run.settings.get("eval_strategy")
    if setting is None:
        return
    share = run.native.get("split_dataset_ratio")
    data = [run.native.get(name) for name in ("val_dataset", "cached_val_dataset", "eval_dataset")]
    split = share.value if share is not None else 0
    if not any(item is not None and item.value for item in data) and split in (0, 0.0):
        run.derive("eval_strategy", "no", "no val_dataset and no split_dataset_ratio", setting.key)
    elif left_open(setting):
        saves = run.native.get("save_strategy")
        run.derive("eval_strategy", saves.value if saves is not None else "steps", "as save_strategy", setting.key)


def sizes(run: RunConfig, kind: str, table: KeyTable) -> None:
    """Samples per generation and optimizer step, once the number of processes is known."""
    if kind == "megatron_rlhf":
        _megatron_sizes(run)
        return
    from . import accelerate

    accelerate.derive_ranks(run)
    world, micro = whole(run.value("world_size")), whole(run.value("micro_batch_per_gpu"))
    accumulation = run.settings.get("gradient_accumulation")
    if accumulation is not None and left_open(accumulation):
        if world and micro:
            steps = max(1, ceil(_BATCH_WITHOUT_ACCUMULATION / micro / world))
            run.derive("gradient_accumulation", steps, "up to 16 samples where none is given", accumulation.key)
        else:
            run.settings["gradient_accumulation"] = open_setting("gradient_accumulation", accumulation.key)
    total = product(micro, world, run.value("gradient_accumulation"))
    run.derive("train_batch_samples", total, "micro-batch x processes x accumulation")
    if run.value("rollout_engine") is not None and in_range(table.version, ">=3.5.0"):
        trl_defaults.generation_sizes(run)


def _megatron_sizes(run: RunConfig) -> None:
    """resolve_generation_batch_size: one global batch where nothing is given."""
    world = whole(run.value("world_size"))
    copies = product(*(run.value(name) or 1 for name in ("tensor_parallel", "pipeline_parallel", "context_parallel")))
    if world and copies and world % copies == 0:
        run.derive("data_parallel_size", world // copies, "processes over model parallelism", run.key_of("world_size"))
    size, steps = run.settings.get("generation_batch_size"), run.settings.get("steps_per_generation")
    per_step = whole(run.value("train_batch_samples"))
    if size is None or steps is None or not per_step:
        return
    if left_open(steps):
        samples = whole(size.value)
        run.derive(
            "steps_per_generation", samples // per_step if samples else 1, "generation over global batch", steps.key
        )
    if left_open(size):
        total = product(per_step, run.value("steps_per_generation"))
        run.derive("generation_batch_size", total, "global batch x steps_per_generation", size.key)
