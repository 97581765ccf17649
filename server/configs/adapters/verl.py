"""verl (and recipes on it): Hydra overrides over ppo_trainer.yaml or one of its siblings for other engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...store.index import adapter as adapter_data
from ...store.versions import in_range
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import EXPLICIT, RunConfig, UnknownKey
from ..values import Entry, Lint, Unresolved
from .common import Options, apply_options, derive_moe, explicit_settings, fill, product, start_run, whole
from .engine_arguments import below, derive_recurrent, judge_handed_on, take_handed_on
from .verl_batch import batch as batch

# Programs that start from verl's own ppo_trainer.yaml; any other one brings a config of its own
_STOCK_PROGRAMS = ("verl.trainer.main_ppo", "verl.trainer.main_ppo_v0", "verl.trainer.main_ppo_sync")
_ENGINE_TABLES = {
    "megatron": "ppo_megatron_trainer",
    "veomni": "ppo_veomni_trainer",
    "torchtitan": "ppo_torchtitan_trainer",
    "mindspeed": "ppo_mindspeed_trainer",
}
_TABLES = ("ppo_trainer", *_ENGINE_TABLES.values())
_ENGINE_KEYS = ("model_engine", "actor_rollout_ref.actor.strategy")


def claims(part: Part) -> int:
    """How surely a part is a verl run: its program, or keys under actor_rollout_ref."""
    if _module(part).endswith(_STOCK_PROGRAMS):
        return 100
    keys = {entry.key for entry in part.entries}
    if any(key.startswith("actor_rollout_ref.") for key in keys):
        return 80
    return 30 if any(key.startswith(("algorithm.adv_estimator", "trainer.n_gpus_per_node")) for key in keys) else 0


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch and config files (files first, the launch's overrides win)."""
    launch = next((part for part in parts if part.format == "shell"), None)
    files = [part for part in parts if part.format != "shell"]
    own = _own_config(launch, options) if launch is not None and not files else []
    run = start_run("verl", [*parts, *own], options)
    entries = [entry for part in (*own, *files) for entry in part.entries]
    overrides = [entry for entry in (launch.entries if launch else []) if not entry.key.startswith("-")]
    run.native = explicit_settings([*entries, *overrides], run.lints)
    run.lints += launch.override_lints if launch else []

    version = options.versions.get("verl")
    table = load("verl", [_table_name(run, launch)], version)
    run.notes += [table.note] if table.note else []
    _follow_interpolations(run, table)
    if launch is None or not launch.program:
        run.partial = "only a part of the run was given"
    stock = _starts_from_stock(launch, [*own, *files])
    if not stock:
        run.notes.append(
            f"{launch.program if launch else 'the launch'} starts from a config of its own that was not found; "
            "unset keys have unknown values and no key is judged as unknown"
        )
    data = adapter_data("verl")
    fields = {**data["fields"], **_clipping_fields(_engine(run, launch), version)}
    fill(run, fields, table, f"verl {table.version}", stock, data["handed_on"])
    if stock:
        _judge_keys(run, table, overrides, {entry.key for entry in entries}, version)
    judge_handed_on(run, data["engine_sections"], data["own_engine_arguments"])
    if (engine := run.value("rollout_engine")) in data["engine_sections"]:
        take_handed_on(run, str(engine), below(run, data["engine_sections"][engine]), keep=fields)
    _derive(run, launch)
    derive_recurrent(run)
    apply_options(run, options)
    _derive_parallelism(run)
    return run


def _follow_interpolations(run: RunConfig, table: KeyTable) -> None:
    """Values such as ${data.train_batch_size} become what they refer to: a setting of the user's, or a default."""
    written = {key: _text_of(setting.value) for key, setting in run.native.items()}
    for key, value in written.items():
        if isinstance(value, str) and "${" in value:
            run.native[key].value = table.follow(key, value, written)


def _text_of(value: Any) -> Any:
    """A value in which only OmegaConf interpolations are open, as its text; the shell's unknowns stay unresolved."""
    open_only = isinstance(value, Unresolved) and value.names and all(name.startswith("${") for name in value.names)
    return value.text if open_only else value


def _module(part: Part) -> str:
    return part.program.replace("/", ".").removesuffix(".py")


def _option(launch: Part, *names: str) -> str:
    """Value of a Hydra command-line flag, "" when it is not given."""
    entry = next((found for name in names if (found := launch.last(name)) is not None), None)
    return "" if entry is None else str(entry.value)


def _config_name(launch: Part) -> str:
    return _option(launch, "--config-name", "-cn").removesuffix(".yaml")


def _config_folder(launch: Part) -> str:
    return _option(launch, "--config-path", "--config-dir", "-cp", "-cd")


def _starts_from_stock(launch: Part | None, files: list[Part]) -> bool:
    """Whether unset keys have the defaults of verl's own config.

    So they have when the launch names it, when the config files build on it, and in settings pasted without a command.
    """
    if files:
        bases = [base for part in files for base in part.bases]
        return launch is None or any(base.rsplit("/", 1)[-1] in _TABLES for base in bases)
    return launch is None or _is_stock(launch)


def _is_stock(launch: Part) -> bool:
    program, name, folder = _module(launch), _config_name(launch), _config_folder(launch)
    named = launch.last("--config-name") or launch.last("-cn")
    return (
        (not program or program.endswith(_STOCK_PROGRAMS))
        and (named is None or name in _TABLES)
        and (folder in ("", "config", "./config") or folder.endswith("verl/trainer/config"))
    )


def _own_config(launch: Part, options: Options) -> list[Part]:
    """The config file that a recipe's launch starts from, if it lies in the project folder."""
    name, load_file = _config_name(launch), options.load
    if _is_stock(launch) or not name or load_file is None:
        return []
    return next((parts for place in _places(launch, name) if (parts := load_file(place, launch.path))), [])


def _places(launch: Part, name: str) -> Iterator[str]:
    """Where a config file may lie: --config-path as written, below the program's folder, or after an unknown prefix."""
    module = launch.program.removesuffix(".py").replace(".", "/").rpartition("/")[0]
    folder = re.sub(r"^(?:\$\{?[^}/]*\}?|\$\([^)]*\))/*", "", _config_folder(launch))
    for base in (folder, f"{module}/{folder}") if folder else (f"{module}/config", module):
        yield f"{base}/{name}.yaml".lstrip("/")


def _table_name(run: RunConfig, launch: Part | None) -> str:
    """The engine's table: by --config-name, the model_engine group, the actor's strategy, or the keys that are set."""
    if launch is not None and _config_name(launch) in _TABLES:
        return _config_name(launch)
    return _ENGINE_TABLES.get(_engine(run, launch), "ppo_trainer")


def _engine(run: RunConfig, launch: Part | None) -> str:
    """Name of the training engine as far as the settings tell it; "fsdp" is verl's default."""
    named = [run.native[key].value for key in _ENGINE_KEYS if key in run.native]
    for value in named:
        if value in _ENGINE_TABLES:
            return str(value)
    if any(key.startswith("actor_rollout_ref.actor.megatron.") for key in run.native):
        return "megatron"
    config = "" if launch is None else _config_name(launch)
    if config in _ENGINE_TABLES.values():
        return next(engine for engine, table in _ENGINE_TABLES.items() if table == config)
    strategy = run.native.get("actor_rollout_ref.actor.strategy")
    return str(strategy.value) if strategy is not None and isinstance(strategy.value, str) else "fsdp"


def _judge_keys(
    run: RunConfig, table: KeyTable, overrides: list[Entry], in_files: set[str], version: str | None
) -> None:
    """Keys that Hydra refuses: unknown without `+`, or `+` over a key that has a value.

    Without a stated version only a key that no release knows is reported: one minor version off, the check would
    accuse every third working launch.
    """
    exact = version is not None and table.exact
    added: set[str] = set()
    for entry in overrides:
        key, _, package = entry.key.partition("@")
        if package or "$" in key or key in in_files or key.startswith("hydra."):
            continue
        if entry.op in ("+", "++"):
            added.add(key)
        if entry.op == "+" and exact and _has_value(table, key) and not isinstance(entry.value, dict | list):
            run.lints.append(_plus_over_existing(entry, table))
        elif entry.op == "" and not _takes(table, key, added) and (exact or table.lifecycle(key) is None):
            reason = table.explain_unknown(key)
            near, note, new_name = list(reason.did_you_mean), reason.note, reason.new_name
            if table.is_open(key):
                near, note = [f"+{key}"], "not in the config, only accepted with a leading +"
                new_name = near[0]
            run.unknown_keys.append(UnknownKey(key, entry.file, entry.line, near, note, exact, new_name))
    if any(not row.fatal for row in run.unknown_keys):
        run.partial = run.partial or "the launch sets keys that no verl release knows"


def _takes(table: KeyTable, key: str, added: set[str]) -> bool:
    """Whether Hydra takes an override of the key without `+`: it exists, or an earlier `+` made it or its section."""
    inside = any(key == name or key.startswith(f"{name}.") for name in added)
    return inside or table.exists(key) or table.is_section(key)


def _has_value(table: KeyTable, key: str) -> bool:
    return table.exists(key) and table.declared(key) is not None


def _plus_over_existing(entry: Entry, table: KeyTable) -> Lint:
    text = (
        f"+{entry.key} adds a key that verl {table.version} has already, with the value {table.declared(entry.key)}; "
        "Hydra stops at start-up."
    )
    fix = f"Write {entry.key}= without the +, or with ++."
    return Lint("hydra-plus-existing-key", text, entry.file, entry.line, "error", fix)


def _clipping_fields(engine: str, version: str | None) -> dict[str, str]:
    """verl has two clipping keys; which one is read depends on engine and version (unified engine since 0.8.0)."""
    old, new = "actor_rollout_ref.actor.grad_clip", "actor_rollout_ref.actor.optim.clip_grad"
    unified = version is None or in_range(version, ">=0.8.0") or engine == "megatron"
    return {"grad_clip": new, "grad_clip_ignored": old} if unified else {"grad_clip": old, "grad_clip_ignored": new}


def _derive(run: RunConfig, launch: Part | None) -> None:
    engine = _engine(run, launch)
    run.derive("sharding_backend", engine, "from the actor's strategy", "actor_rollout_ref.actor.strategy")
    if engine in ("fsdp", "fsdp2"):
        run.derive("fsdp_version", 2 if engine == "fsdp2" else 1, "the strategy", "actor_rollout_ref.actor.strategy")
    else:
        for name in ("fsdp_size", "model_dtype", "ref_dtype", "offload_policy", "sequence_parallel"):
            run.settings.pop(name, None)
    ignored = run.settings.get("grad_clip_ignored")
    if ignored is not None and ignored.origin != EXPLICIT:
        del run.settings["grad_clip_ignored"]
    _derive_reward_manager(run)
    _derive_algorithm(run)
    derive_moe(run)


def _derive_reward_manager(run: RunConfig) -> None:
    """At its start verl copies the old key over the new one, unless it is null."""
    old = run.native.get("reward_model.reward_manager")
    if old is not None and old.value is not None:
        run.keys["reward_manager"] = old.key
        run.settings["reward_manager"] = replace(old, field="reward_manager")


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
