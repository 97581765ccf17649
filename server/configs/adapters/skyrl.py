"""SkyRL: dotted key=value words of `skyrl.train.entrypoints.main_base` (dataclasses) or of its forerunner
`skyrl_train.entrypoints.main_base` (Hydra over ppo_base_config.yaml).

The two are packages of their own with versions of their own; most keys have the same name, those of the inference
engines have moved. Both stop at a key that they do not know.
"""

from __future__ import annotations

from typing import Any

from ...store.index import adapter as adapter_data
from ...store.versions import in_range
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig, Setting
from ..values import Entry
from . import verl_batch
from .common import Options, apply_options, derive_moe, dtype, product, start_run, whole
from .dotted import SettingsTree, fill_tree, judge_keys, launch_of, overrides_of
from .engine_arguments import below, derive_recurrent, judge_handed_on, take_handed_on

_NEW, _OLD = "skyrl", "skyrl-train"
_TABLES = {_NEW: "SkyRLTrainConfig", _OLD: "ppo_base_config"}
_STOCK = (".entrypoints.main_base", "entrypoints/main_base.py")
_ASYNC_PROGRAMS = ("fully_async", "async.main_async", "async/main_async", "one_step_off")


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch (and a YAML of keys, if one is given)."""
    data = adapter_data("skyrl")
    run = start_run("skyrl", parts, options)
    launch = launch_of(parts)
    files = [part for part in parts if part.format in ("yaml", "json")]
    entries = [*(entry for part in files for entry in part.entries), *overrides_of(launch)]
    if launch is not None and "sft" in launch.program:
        run.notes.append(f"{launch.program} is not the RL trainer; its settings are not checked")
        return run
    package = _package(launch, entries, options)
    run.without = {_OLD if package == _NEW else _NEW}
    if package == _NEW and launch is not None and _NEW in launch.program:  # otherwise they speak of Hydra's grammar
        run.lints += launch.override_lints
    stated = options.versions.get(package)
    table = load(package, [_TABLES[package]], stated)
    run.notes += [table.note] if table.note else []
    if launch is None or not launch.program:
        run.partial = "only a part of the run was given"
    tree = SettingsTree(run, table, entries)
    fill_tree(run, data["fields"], tree, f"{package} {table.version}")
    stock = launch is not None and launch.program.endswith(_STOCK)
    kept = data["tolerated"] if package == _NEW else {}
    judged = [
        entry
        for entry in entries
        if not _is_legacy(entry, package, stated, data["legacy"]) and entry.value not in kept.get(entry.key, [])
    ]
    judge_keys(
        run, table, judged, stated, stops=stock, plus_adds=package == _OLD, extended=not stock and launch is not None
    )
    for row in run.unknown_keys if package == _NEW else []:
        moved = _moved(row.key, data["legacy"])
        if table.known(moved):
            row.did_you_mean, row.note = [moved], f"a name of {_OLD}; skyrl takes only the new one since 0.3.0"
    _engine(run, data["engine_section"][package], by_keyword=package == _OLD)
    _derive(run, launch, table, data)
    derive_recurrent(run)
    apply_options(run, options)
    _derive_parallelism(run)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """verl's table: SkyRL counts prompts and multiplies by n_samples_per_prompt in the same way."""
    return verl_batch.batch(run)


def _package(launch: Part | None, entries: list[Entry], options: Options) -> str:
    """Which of the two packages runs: as its program or version says, else as most of its own keys."""
    program = launch.program.replace("-", "_") if launch is not None else ""
    if "skyrl_train" in program:
        return _OLD
    if program.startswith("skyrl.") or _NEW in options.versions:
        return _NEW
    if _OLD in options.versions:
        return _OLD
    new, old = (load(name, [_TABLES[name]]) for name in (_NEW, _OLD))
    known = [(new.known(entry.key), old.known(entry.key)) for entry in entries]
    return _OLD if sum(b and not a for a, b in known) > sum(a and not b for a, b in known) else _NEW


def _is_legacy(entry: Entry, package: str, stated: str | None, legacy: dict[str, Any]) -> bool:
    """A key of the older package that this one still translates."""
    if package != _NEW or (stated is not None and not in_range(stated, f"<{legacy['until']}")):
        return False
    table = load(_NEW, [_TABLES[_NEW]], stated or "0.2.0")
    return entry.key in legacy["dropped"] or table.known(_moved(entry.key, legacy))


def _moved(key: str, legacy: dict[str, Any]) -> str:
    """The name in skyrl of a key of skyrl-train's engines; "" when it is none."""
    if not key.startswith(legacy["prefix"]):
        return ""
    name = key.removeprefix(legacy["prefix"])
    return str(legacy["to"] + legacy["renamed"].get(name, name))


def _engine(run: RunConfig, section: str, by_keyword: bool) -> None:
    """vLLM's arguments: skyrl sets them over its own, skyrl-train calls the engine with them."""
    engine = run.value("rollout_engine", "vllm")
    if engine == "vllm" or (engine == "sglang" and by_keyword):
        take_handed_on(run, engine, below(run, section))
        judge_handed_on(run, {engine: section}, by_keyword=(engine,) if by_keyword else ())
    if engine == "vllm" and isinstance(shared := run.value("colocate"), bool):
        run.derive("free_cache_engine", shared, f"colocated: {str(shared).lower()}", run.key_of("colocate"))


def _derive(run: RunConfig, launch: Part | None, table: KeyTable, data: dict[str, Any]) -> None:
    for name in data["dtypes"]:
        setting = run.settings.get(name)
        if setting is not None and setting.known:
            setting.value = dtype(setting.value)
    _derive_backend(run, table)
    _derive_algorithm(run)
    program = launch.program if launch is not None else ""
    if any(name in program for name in _ASYNC_PROGRAMS):
        run.derive("async_training", True, f"the launch starts {program}")
    elif run.value("fully_async") is True:
        run.derive("async_training", True, "fully asynchronous training is on", run.key_of("fully_async"))
    elif program.endswith(_STOCK):
        run.derive("async_training", False, f"the launch starts {program}")
    if any(name in program for name in ("fully_async",)) and "fully_async" in run.absent:
        run.derive("fully_async", True, f"the launch starts {program}")
    if run.value("bf16") is True:
        run.derive("autocast_dtype", "bfloat16", "bf16 is on", run.key_of("bf16"))
    run.derive("distillation", "distill" in program, f"the launch starts {program or 'nothing'}")
    derive_moe(run)


def _derive_backend(run: RunConfig, table: KeyTable) -> None:
    strategy, key = run.value("strategy"), run.key_of("strategy")
    if strategy == "fsdp" and table.package == _NEW and in_range(table.version, ">=0.3.0"):
        strategy = "fsdp2"  # FSDP1 is gone, the name has stayed
    if not isinstance(strategy, str):
        return
    run.derive("sharding_backend", strategy, "the training strategy", key)
    if strategy in ("fsdp", "fsdp2"):
        run.derive("fsdp_version", 2 if strategy == "fsdp2" else 1, "the training strategy", key)
    if strategy != "megatron":
        for name in ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "gating_dtype"):
            run.settings.pop(name, None)


def _derive_algorithm(run: RunConfig) -> None:
    critic, key = run.settings.get("critic_model"), run.key_of("critic_model")
    if critic is not None and critic.known:
        run.derive("use_critic", critic.value is not None, "a critic has a model", key)
    kinds = [run.value(name) for name in ("use_kl_loss", "use_kl_in_reward")]
    if any(kind is True for kind in kinds):
        run.derive("ref_policy", True, "a KL term is on")
    elif all(kind is False for kind in kinds):
        run.derive("ref_policy", False, "no KL term is on")
    for name in ("truncated_is_type", "sequence_mask"):
        if run.value(name) is not None:
            run.derive("rollout_is", True, f"{run.key_of(name)} {run.value(name)}", run.key_of(name))
    sampling = run.settings.get("filter_groups")
    if sampling is not None and sampling.known:
        run.settings["filter_groups"] = Setting(
            "filter_groups", sampling.key, sampling.value == "filter", sampling.origin, sampling.file, sampling.line,
            sampling.version, "",
        )  # fmt: skip
        run.set_explicit_like("dynamic_sampling", sampling, sampling.value)
    tokens = whole(run.value("max_token_len_per_gpu"))
    if tokens is not None or "max_token_len_per_gpu" in run.absent:
        packed = tokens is not None and tokens > 0
        run.derive("use_dynamic_bsz", packed, "a token budget for micro-batches", run.key_of("max_token_len_per_gpu"))


def _derive_parallelism(run: RunConfig) -> None:
    if "world_size" not in run.settings:
        gpus = product(run.value("nnodes"), run.value("n_gpus"))
        note = "policy_num_nodes x policy_num_gpus_per_node"
        run.derive("world_size", gpus, note, run.key_of("n_gpus"))
    world = whole(run.value("world_size"))
    model: tuple[str, ...] = ("sequence_parallel",)
    if run.value("sharding_backend") == "megatron":
        model = ("tensor_parallel", "pipeline_parallel", "context_parallel")
    shard = product(*(run.value(name, 1) for name in model))
    if world and shard and world % shard == 0:
        run.derive("data_parallel_size", world // shard, "world size over model or sequence parallel size")
