"""verl (and recipes on it): Hydra overrides over ppo_trainer.yaml or its Megatron, VeOmni and TorchTitan siblings."""

from __future__ import annotations

from typing import Any

from ...store.index import adapter as adapter_data
from ...store.versions import in_range
from ..batch.verl import batch as batch
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig, UnknownKey
from ..values import Entry, Unresolved
from .common import Options, apply_options, derive_moe, explicit_settings, fill, product, start_run, whole

# Programs that start from verl's own ppo_trainer.yaml; any other one brings a config of its own
_STOCK_PROGRAMS = ("verl.trainer.main_ppo", "verl.trainer.main_ppo_v0", "verl.trainer.main_ppo_sync")
_TABLES = ("ppo_trainer", "ppo_megatron_trainer", "ppo_veomni_trainer", "ppo_torchtitan_trainer")
_HYDRA_FLAGS = ("--config-name", "--config-path", "--config-dir", "-cn", "-cp", "-cd")
_ENGINE_TABLES = {"megatron": "ppo_megatron_trainer", "veomni": "ppo_veomni_trainer", "torchtitan": "ppo_torchtitan_trainer"}


def claims(part: Part) -> int:
    """How surely a part is a verl run: its program, or keys under actor_rollout_ref."""
    if part.program.endswith(_STOCK_PROGRAMS):
        return 100
    keys = part.keys()
    if any(key.startswith("actor_rollout_ref.") for key in keys):
        return 80
    return 30 if any(key.startswith(("algorithm.adv_estimator", "trainer.n_gpus_per_node")) for key in keys) else 0


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch and config files (files first, the launch's overrides win)."""
    run = start_run("verl", parts, options)
    launch = next((part for part in parts if part.format == "shell"), None)
    config_files = [part for part in parts if part.format != "shell"]
    if launch is None or not launch.program:
        run.partial = "only a part of the run was given"
    own_config = _own_config(launch, options, run)
    config_files = own_config + config_files if own_config else config_files
    entries = [entry for part in config_files for entry in part.entries]
    overrides = [entry for entry in (launch.entries if launch else []) if not entry.key.startswith("-")]
    run.native = explicit_settings([*entries, *overrides], run.lints)

    stock = launch is None or _is_stock(launch) or bool(own_config) or _inherits_stock(config_files)
    table = load("verl", [_table_name(run, launch)], options.versions.get("verl"))
    version = f"verl {table.version}"
    run.notes += [table.note] if table.note else []
    if not stock:
        run.notes.append(
            f"{launch.program if launch else 'the launch'} starts from a config of its own that was not found; "
            "unset keys have unknown values and no key is judged as unknown"
        )
    data = adapter_data("verl")
    fill(run, data["fields"], table, version, stock, data["handed_on"])
    if stock:
        _judge_keys(run, table, overrides, options.versions.get("verl"))
        if any(not row.fatal for row in run.unknown_keys):
            run.partial = run.partial or "the launch sets keys that no verl release knows"
    _derive(run, options)
    apply_options(run, options)
    _derive_parallelism(run)
    return run


def _is_stock(launch: Part) -> bool:
    """Whether the launch starts from verl's own config; overrides pasted without their command are taken so."""
    name = launch.last("--config-name") or launch.last("-cn")
    path = launch.last("--config-path") or launch.last("-cp") or launch.last("--config-dir")
    program = launch.program.replace("/", ".").removesuffix(".py")
    stock_program = not program or program.endswith(_STOCK_PROGRAMS)
    stock_name = name is None or str(name.value).removesuffix(".yaml") in _TABLES
    return stock_program and stock_name and (path is None or str(path.value).endswith("verl/trainer/config"))


def _inherits_stock(files: list[Part]) -> bool:
    return any(isinstance(part.data, dict) and "actor_rollout_ref" in part.data for part in files)


def _own_config(launch: Part | None, options: Options, run: RunConfig) -> list[Part]:
    """The config file that a recipe's launch starts from, if it lies in the project folder."""
    if launch is None or _is_stock(launch) or options.load is None:
        return []
    name = launch.last("--config-name") or launch.last("-cn")
    path = launch.last("--config-path") or launch.last("-cp") or launch.last("--config-dir")
    folder = str(path.value) if path is not None else ""
    module = launch.program.removesuffix(".py").replace(".", "/").rsplit("/", 1)[0]
    file_name = str(name.value).removesuffix(".yaml") + ".yaml" if name is not None else ""
    if not file_name:
        return []
    candidates = [f"{folder}/{file_name}"] if folder else [f"{module}/config/{file_name}", f"{module}/{file_name}"]
    if folder and not folder.startswith("/"):
        candidates.append(f"{module}/{folder}/{file_name}")
    for candidate in candidates:
        parts = options.load(candidate, launch.path)
        if parts:
            for part in parts:
                run.sources += start_run("verl", [part], options).sources
            return parts
    return []


def _table_name(run: RunConfig, launch: Part | None) -> str:
    """The engine's table: by --config-name, the model_engine group, or the actor's strategy."""
    name = launch.last("--config-name") if launch else None
    if name is not None and (stem := str(name.value).removesuffix(".yaml")) in _TABLES:
        return stem
    for key in ("model_engine", "actor_rollout_ref.actor.strategy", "actor_rollout_ref.model_engine"):
        setting = run.native.get(key)
        if setting is not None and setting.value in _ENGINE_TABLES:
            return _ENGINE_TABLES[setting.value]
    if any(key.startswith("actor_rollout_ref.actor.megatron.") for key in run.native):
        return "ppo_megatron_trainer"
    return "ppo_trainer"


def _judge_keys(run: RunConfig, table: KeyTable, overrides: list[Entry], version: str | None) -> None:
    """Keys that Hydra refuses: unknown without `+`, or `+` over a key that has a value.

    Without a stated version only a key that no release knows is reported: one minor version off, the check would
    accuse every third working launch.
    """
    for entry in overrides:
        key, _, group = entry.key.partition("@")
        if group or isinstance(entry.value, Unresolved) and "$" in key:
            continue
        known = table.known(key)
        if entry.op == "" and not known:
            exact = version is not None and table.exact
            if not exact and table.lifecycle(key) is not None:
                continue
            reason = table.explain_unknown(key)
            run.unknown_keys.append(
                UnknownKey(key, entry.file, entry.line, list(reason.did_you_mean), reason.note, fatal=exact)
            )


def _derive(run: RunConfig, options: Options) -> None:
    strategy = run.native.get("actor_rollout_ref.actor.strategy")
    engine = strategy.value if strategy is not None else None
    if engine is None:
        table_engine = {name: key for key, name in _ENGINE_TABLES.items()}
        name = run.native.get("model_engine")
        engine = name.value if name is not None and name.value in _ENGINE_TABLES else "fsdp"
        if name is None and any(key.startswith("actor_rollout_ref.actor.megatron.") for key in run.native):
            engine = table_engine["ppo_megatron_trainer"]
    run.derive("sharding_backend", engine, "from the actor's strategy", "actor_rollout_ref.actor.strategy")
    if engine in ("fsdp", "fsdp2"):
        run.derive("fsdp_version", 2 if engine == "fsdp2" else 1, "from the strategy", "actor_rollout_ref.actor.strategy")
    else:
        for name in ("fsdp_size", "model_dtype", "ref_dtype", "offload_policy", "sequence_parallel"):
            run.settings.pop(name, None)
    _derive_clipping(run, engine, options.versions.get("verl"))
    _derive_algorithm(run)
    derive_moe(run)


def _derive_clipping(run: RunConfig, engine: str, version: str | None) -> None:
    """verl has two clipping keys; which one is read depends on engine and version (unified engine since 0.8.0)."""
    old, new = "actor_rollout_ref.actor.grad_clip", "actor_rollout_ref.actor.optim.clip_grad"
    unified = version is None or in_range(version, ">=0.8.0") or engine == "megatron"
    live, dead = (new, old) if unified else (old, new)
    fields = {"grad_clip": live, "grad_clip_ignored": dead}
    table = load("verl", [_ENGINE_TABLES.get(engine, "ppo_trainer")], version)
    fill(run, fields, table, f"verl {table.version}")
    if dead not in run.native:
        run.settings.pop("grad_clip_ignored", None)


def _derive_algorithm(run: RunConfig) -> None:
    estimator = run.value("adv_estimator")
    if run.value("use_critic") is None and isinstance(estimator, str):
        run.derive("use_critic", estimator == "gae", f"critic.enable unset, adv_estimator {estimator}", "critic.enable")
    kl = [run.value(name) for name in ("use_kl_loss", "use_kl_in_reward")]
    if any(value is True for value in kl):
        run.derive("ref_policy", True, "a KL term is on")
    elif all(value is False for value in kl):
        run.derive("ref_policy", False, "no KL term is on")


def _derive_parallelism(run: RunConfig) -> None:
    """World and data-parallel size, in GPUs and ranks."""
    if "world_size" not in run.settings:
        gpus = product(run.value("nnodes"), run.value("n_gpus"))
        run.derive("world_size", gpus, "trainer.nnodes x trainer.n_gpus_per_node", "trainer.n_gpus_per_node")
    world = whole(run.value("world_size"))
    if run.value("sharding_backend") == "megatron":
        shard = product(*(run.value(name, 1) for name in ("tensor_parallel", "pipeline_parallel", "context_parallel")))
    else:
        shard = whole(run.value("sequence_parallel", 1))
    if world and shard and world % shard == 0:
        run.derive("data_parallel_size", world // shard, "world size over model or sequence parallel size")
