"""NeMo-RL: `examples/run_grpo.py --config FILE key=value`, a YAML with parents below Hydra overrides.

Nothing but the file and its parents has values: a parent that lies outside the project has its released content where
it is one of NeMo-RL's own configs, else the settings that it would give are unknown.
"""

from __future__ import annotations

from typing import Any

from ...store.index import adapter as adapter_data
from ..interpolation import NEMO_RL_RESOLVERS
from ..keys import MISSING, KeyTable, load
from ..keys_data import key_data
from ..parts import Part
from ..run_config import RunConfig, Setting
from ..values import Unresolved
from .common import Options, apply_options, derive_moe, dtype, product, start_run, whole
from .dotted import (
    SettingsTree,
    config_parts,
    fill_tree,
    judge_keys,
    launch_of,
    overrides_of,
    parents_of,
    stem,
)  # fmt: skip
from .engine_arguments import below, derive_recurrent, judge_handed_on, take_handed_on

_NAMES = ("MasterConfig", "examples")  # tables of declared keys, and of keys that the examples set
_JUDGED = ("grpo.", "loss_fn.", "policy.", "cluster.", "checkpointing.")


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch and config file (the file over its parents, the launch's overrides win)."""
    data = adapter_data("nemo-rl")
    run = start_run("nemo-rl", parts, options)
    launch = launch_of(parts)
    files, named = config_parts(run, parts, options)
    overrides = overrides_of(launch)
    entries = [entry for part in files for entry in part.entries]
    if reason := _other_trainer(launch, files, data):
        run.notes.append(f"{reason}; the settings of the GRPO trainer are not checked")
        return run
    sections = {entry.key.partition(".")[0] for entry in entries}
    whole_file = sections >= {"grpo", "policy"} or any(parents_of(part) for part in files)
    if not whole_file and (launch is None or not launch.program):
        run.partial = "only a part of the run was given"
    run.lints += launch.override_lints if launch else []

    stated = options.versions.get("nemo-rl")
    bases, missing = _bases(launch, files, named, data)
    table = load("nemo-rl", [*reversed(bases), *_NAMES], stated)
    run.notes += [table.note] if table.note else []
    if missing:
        run.partial = run.partial or f"{missing} was not found"
        run.notes.append(f"{missing} was not found: keys that are not set here are unknown")
    elif bases:
        run.notes.append(f"values that are not set here are those of NeMo-RL {table.version}'s {', '.join(bases)}.yaml")
    tree = SettingsTree(run, table, [*entries, *overrides], NEMO_RL_RESOLVERS)
    fill_tree(run, _fields(tree, data), tree, f"NeMo-RL {table.version}", defaults_known=not missing)
    judge_keys(run, table, entries, stated, stops=False, sections=_JUDGED)
    _judge_overrides(run, table, overrides, entries, stated, bool(bases) and not missing)
    if run.value("rollout_engine", "vllm") == "vllm":
        take_handed_on(run, "vllm", below(run, data["engine_section"]), keep=data["vllm"])
        judge_handed_on(run, {"vllm": data["engine_section"]}, by_keyword=("vllm",))
    _derive(run, data, tree, defaults_known=not missing)
    derive_recurrent(run)
    apply_options(run, options)
    _derive_parallelism(run, tree)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Prompts, samples and optimizer steps of one training step, as far as they can be computed."""
    prompts, group = whole(run.value("train_batch_prompts")), whole(run.value("group_size"))
    train, micro = whole(run.value("train_batch_samples")), whole(run.value("micro_batch_per_gpu"))
    ranks, samples = whole(run.value("data_parallel_size")), product(prompts, group)
    table: dict[str, Any] = {"prompts_per_step": prompts, "samples_per_step": samples}
    formula = {"samples_per_step": f"{prompts} prompts x {group}"}
    tokens = product(samples, run.value("max_sequence_length"))
    if tokens is not None:
        table["tokens_per_step"] = tokens
        formula["tokens_per_step"] = f"at most {samples} x {run.value('max_sequence_length')}"
    table["samples_per_optimizer_step"] = train
    if samples and train and samples % train == 0:
        table["optimizer_steps_per_rollout"] = samples // train
        formula["optimizer_steps_per_rollout"] = f"{samples} / {train}"
    if train and ranks and train % ranks == 0:
        table["samples_per_gpu"] = train // ranks
        formula["samples_per_gpu"] = f"{train} / {ranks} data-parallel ranks"
        fixed = run.value("use_dynamic_bsz") is False and run.value("use_remove_padding") is False
        if fixed and micro and train // ranks % micro == 0:
            table["micro_steps"] = train // ranks // micro
            formula["micro_steps"] = f"{train} / ({ranks} ranks x {micro})"
    table = {name: value for name, value in table.items() if value is not None}
    shown = {name: text for name, text in formula.items() if name in table}
    return {**table, "formula": shown} if table else {}


def _other_trainer(launch: Part | None, files: list[Part], data: dict[str, Any]) -> str:
    """Why this is no run of the GRPO trainer; "" when it is one."""
    if launch is not None and launch.program and stem(launch.program).removesuffix(".py") not in data["programs"]:
        return f"{launch.program} is not one of the GRPO trainers that are known"
    sections = {entry.key.partition(".")[0] for part in files for entry in part.entries}
    parents = {stem(name) for part in files for name in parents_of(part)}
    other = sections & set(data["other_sections"])
    if files and "grpo" not in sections and (other or not parents & _configs()):
        return f"{files[0].path} has no section grpo"
    return ""


def _configs() -> set[str]:
    """Names of NeMo-RL's own GRPO configs."""
    return set(key_data("nemo-rl").tables) - set(_NAMES)


def _bases(launch: Part | None, files: list[Part], named: str, data: dict[str, Any]) -> tuple[list[str], str]:
    """Released configs below what was read, weakest first, and the name of one that is not known, "" if none."""
    if files:
        wanted = [name for part in files for name in parents_of(part)]
    elif named:
        wanted = [named]
    elif launch is not None and launch.program:
        wanted = [data["programs"][stem(launch.program).removesuffix(".py")] or "the program's own config"]
    else:
        return ["grpo_math_1B"], ""
    missing = next((name for name in wanted if stem(name) not in _configs()), "")
    return [stem(name) for name in wanted if stem(name) in _configs()], missing


def _judge_overrides(
    run: RunConfig, table: KeyTable, overrides: list[Any], entries: list[Any], stated: str | None, whole_known: bool
) -> None:
    """Hydra stops at an override of a key that the config lacks, unless a + adds it."""
    there = {entry.key for entry in entries}
    sections = {key[:end] for key in there for end in range(len(key)) if key[end] == "."}
    new = [entry for entry in overrides if entry.key not in there and entry.key not in sections]
    judge_keys(run, table, new, stated, stops=whole_known, sections=_JUDGED, plus_adds=True)


def _fields(tree: SettingsTree, data: dict[str, Any]) -> dict[str, Any]:
    """The keys of the back end and engine in use; those of DTensor and vLLM where nothing says otherwise."""
    trainer = "megatron" if tree.value("policy.megatron_cfg.enabled") is True else "dtensor"
    engine = tree.value("policy.generation.backend")
    return {
        **data["fields"],
        **data[trainer],
        **(data["vllm"] if not isinstance(engine, str) or engine == "vllm" else {}),
    }


def _derive(run: RunConfig, data: dict[str, Any], tree: SettingsTree, defaults_known: bool) -> None:
    for name in data["dtypes"]:
        setting = run.settings.get(name)
        if setting is not None and setting.known:
            setting.value = dtype(setting.value)
    optimizer = run.settings.get("optimizer")
    if optimizer is not None and optimizer.known:
        optimizer.value = data["optimizers"].get(str(optimizer.value), optimizer.value)
    _derive_backend(run)
    _derive_algorithm(run)
    if run.value("lora_enabled") is False or (defaults_known and "lora_enabled" not in run.settings):
        run.derive("lora_rank", 0, "LoRA is not enabled", run.key_of("lora_enabled"))
    for name in ("skip_ref_log_probs", "filter_groups", "in_flight_updates", "recompute_kv_cache", "async_training"):
        _off_when_missing(run, name, defaults_known)
    if not isinstance(distilled := tree.value("on_policy_distillation"), Unresolved):
        on = distilled is not None and distilled is not MISSING
        run.derive("distillation", on, "a section on_policy_distillation", "on_policy_distillation")
    derive_moe(run)


def _off_when_missing(run: RunConfig, name: str, defaults_known: bool) -> None:
    """A switch that the trainer reads with a fallback of false."""
    if defaults_known and name not in run.settings and name not in run.absent:
        run.settings[name] = Setting(name, run.key_of(name), False, "derived", note="not set: off")


def _derive_backend(run: RunConfig) -> None:
    megatron, dtensor = run.value("megatron_backend"), run.value("dtensor_backend")
    if megatron is True:
        run.derive("sharding_backend", "megatron", "the Megatron back end is enabled", run.key_of("megatron_backend"))
    elif dtensor is True:
        run.derive("sharding_backend", "fsdp2", "the DTensor back end is enabled", run.key_of("dtensor_backend"))
        run.derive("fsdp_version", 2, "the DTensor back end", run.key_of("dtensor_backend"))
        run.derive("model_dtype", "float32", "the DTensor back end keeps master weights in float32")
    if run.value("rollout_engine") == "vllm" and run.value("colocate") is True:
        run.derive("free_cache_engine", True, "a colocated engine sleeps during training", run.key_of("colocate"))
        run.derive("sleep_level", 1, "NeMo-RL calls sleep(level=1)", run.key_of("colocate"))


def _derive_algorithm(run: RunConfig) -> None:
    run.derive("ppo_epochs", 1, "NeMo-RL trains once on every rollout")
    run.derive("use_critic", False, "the GRPO trainer has no critic")
    if "adv_estimator" in run.absent:
        run.derive("adv_estimator", "grpo", "this version has no other estimator")
    ratio = run.settings.get("sequence_level_ratio")
    if ratio is not None:
        level = ratio.value if not ratio.known else "sequence" if ratio.value else "token"
        run.set_explicit_like("importance_sampling_level", ratio, level)
    coefficient, in_reward, key = run.value("kl_coef"), run.value("kl_switch_in_reward"), run.key_of("kl_coef")
    if not isinstance(coefficient, int | float) or isinstance(coefficient, bool):
        return
    if in_reward is None and "kl_switch_in_reward" in run.absent:
        in_reward = False
    if isinstance(in_reward, bool):
        note = f"KL penalty {coefficient}, KL in the reward: {str(in_reward).lower()}"
        run.derive("use_kl_loss", coefficient > 0 and not in_reward, note, key)
        run.derive("use_kl_in_reward", coefficient > 0 and in_reward, note, key)


def _derive_parallelism(run: RunConfig, tree: SettingsTree) -> None:
    """GPUs of the trainer, data-parallel ranks and engines. A reward model in the environment and teachers have GPUs of
    their own, so that nothing is known of the trainer's."""
    total = product(run.value("nnodes"), run.value("n_gpus"))
    own = tree.value("env.reward_model.enabled")
    alone = own is not True and not isinstance(own, Unresolved) and run.value("distillation") is False
    if alone and "world_size" not in run.settings and total:
        engines = _rollout_gpus(run)
        note = "cluster.num_nodes x cluster.gpus_per_node"
        if run.value("colocate") is True:
            run.derive("world_size", total, note, run.key_of("n_gpus"))
        elif run.value("colocate") is False and engines is not None and 0 < engines < total:
            run.derive("world_size", total - engines, f"{note} without the engines' {engines}", run.key_of("n_gpus"))
    world = whole(run.value("world_size"))
    shard = product(*(run.value(name, 1) for name in ("tensor_parallel", "pipeline_parallel", "context_parallel")))
    if world and shard and world % shard == 0:
        run.derive("data_parallel_size", world // shard, "world size over tensor, pipeline and context parallel size")


def _rollout_gpus(run: RunConfig) -> int | None:
    """GPUs of the engines when they have their own: nodes x GPUs, or a part of the only node."""
    if whole(run.value("nnodes")) == 1:
        return whole(run.value("rollout_n_gpus"))
    return product(run.value("rollout_nnodes"), run.value("rollout_n_gpus"))
