"""EasyR1: `python -m verl.trainer.main config=FILE key=value` over a tree of dataclasses (OmegaConf, not Hydra).

The command line wins over the file, the file over the dataclasses. An unknown key stops the launch.
"""

from __future__ import annotations

from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import RunConfig, UnknownKey
from ..values import Entry, Unresolved
from . import verl_batch
from .common import Options, apply_options, derive_moe, dtype, explicit_settings, fill, product, start_run, whole

_PROGRAM = "verl.trainer.main"
_SECTIONS = ("worker.actor.", "worker.rollout.", "worker.critic.", "worker.ref.", "worker.reward.")
_CONFIG = "config"


def claims(part: Part) -> int:
    """100 for the trainer's module, 95 for a file with its sections, 90 for its keys alone."""
    program = part.program.replace("/", ".").removesuffix(".py")
    if program == _PROGRAM or program.endswith("." + _PROGRAM):
        return 100
    if sum(entry.key.startswith(_SECTIONS) for entry in part.entries) >= 2:
        return 95 if part.format == "yaml" else 90
    return 0


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch and config file (the file first, the launch's overrides win)."""
    run = start_run("easyr1", parts, options)
    launch = next((part for part in parts if part.format == "shell"), None)
    overrides = [entry for entry in (launch.entries if launch else []) if entry.key != _CONFIG]
    named = launch.last(_CONFIG) if launch else None
    files = [part for part in parts if part.format != "shell"] or _load(named, launch, options, run)
    entries = [*(entry for part in files for entry in part.entries), *overrides]
    run.native = explicit_settings(entries, run.lints)
    if launch is None or not launch.program:
        run.partial = "only a part of the run was given"

    stated = options.versions.get("easyr1")
    missing = named is not None and not files
    tables = ["examples_config", "PPOConfig"] if missing and _is_example(named) else ["PPOConfig"]
    table = load("easyr1", tables, stated)
    run.notes += [table.note] if table.note else []
    known = not missing or _is_example(named)
    if missing and named is not None:
        _say_missing(run, named, known)
    fill(run, adapter_data("easyr1")["fields"], table, f"EasyR1 {table.version}", defaults_known=known)
    _judge_keys(run, entries, load("easyr1", ["PPOConfig"], stated), stated)
    _derive(run)
    apply_options(run, options)
    _derive_parallelism(run)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """verl's table: EasyR1 counts prompts and multiplies by rollout.n in the same way."""
    return verl_batch.batch(run)


def _load(named: Entry | None, launch: Part | None, options: Options, run: RunConfig) -> list[Part]:
    """The file that `config=` names, when it lies in the project folder."""
    if named is None or launch is None or options.load is None or not isinstance(named.value, str):
        return []
    parts = options.load(named.value, launch.path)
    for part in parts:
        run.sources += start_run("easyr1", [part], options).sources
    return parts


def _is_example(named: Entry | None) -> bool:
    return named is not None and str(named.value).endswith(adapter_data("easyr1")["example_config"])


def _say_missing(run: RunConfig, named: Entry, released: bool) -> None:
    if released:
        run.partial = f"{named.value} was not found; its released content is assumed"
        run.notes.append(run.partial)
    else:
        run.notes.append(f"{named.value} was not found: keys that the command line does not set are unknown")


def _judge_keys(run: RunConfig, entries: list[Entry], table: KeyTable, stated: str | None) -> None:
    """Keys that the dataclasses refuse; without a stated version only those that no release has."""
    exact = stated is not None and table.exact
    for entry in entries:
        if entry.key.startswith("-") or table.known(entry.key):
            continue
        if exact or table.lifecycle(entry.key) is None:
            reason = table.explain_unknown(entry.key)
            meant = list(reason.did_you_mean)
            run.unknown_keys.append(
                UnknownKey(entry.key, entry.file, entry.line, meant, reason.note, exact, reason.new_name)
            )


def _derive(run: RunConfig) -> None:
    run.derive("sharding_backend", "fsdp", "EasyR1 trains with FSDP")
    run.derive("fsdp_version", 1, "EasyR1 wraps with FullyShardedDataParallel")
    run.derive("free_cache_engine", True, "the engine sleeps after every rollout")
    run.derive("sleep_level", 1, "EasyR1 calls sleep(level=1)")
    run.derive("colocate", True, "trainer and engine share the GPUs")
    _derive_algorithm(run)
    _derive_dtypes(run)
    if (rank := whole(run.value("lora_rank"))) is not None:
        run.derive("ref_in_actor", rank > 0, f"LoRA rank {rank}", run.key_of("lora_rank"))
    prompts = run.settings.get("train_batch_prompts")
    if run.value("generate_batch_prompts", "open") is None and prompts is not None:
        run.derive(
            "generate_batch_prompts", prompts.value, f"unset: {prompts.key}", run.key_of("generate_batch_prompts")
        )
    derive_moe(run)


def _derive_algorithm(run: RunConfig) -> None:
    estimator, off, in_loss = (run.value(name) for name in ("adv_estimator", "disable_kl", "use_kl_loss"))
    if isinstance(estimator, str):
        run.derive("use_critic", estimator == "gae", f"adv_estimator {estimator}", run.key_of("adv_estimator"))
    if isinstance(off, bool):
        run.derive("ref_policy", not off, f"disable_kl {str(off).lower()}", run.key_of("disable_kl"))
        if isinstance(in_loss, bool):
            note = "a reference without a KL term in the loss"
            run.derive("use_kl_in_reward", not off and not in_loss, note, run.key_of("use_kl_loss"))


def _derive_dtypes(run: RunConfig) -> None:
    data = adapter_data("easyr1")
    for name in data["dtypes"]:
        setting = run.settings.get(name)
        if setting is not None and not isinstance(setting.value, Unresolved):
            setting.value = dtype(setting.value)
            if setting.value is None and name in data["unset_dtypes"]:
                run.derive(name, data["unset_dtypes"][name], f"{setting.key} is null", setting.key)


def _derive_parallelism(run: RunConfig) -> None:
    if "world_size" not in run.settings:
        gpus = product(run.value("nnodes"), run.value("n_gpus"))
        run.derive("world_size", gpus, "trainer.nnodes x trainer.n_gpus_per_node", "trainer.n_gpus_per_node")
    world, shard = whole(run.value("world_size")), whole(run.value("sequence_parallel"))
    if world and shard and world % shard == 0:
        run.derive("data_parallel_size", world // shard, "world size over Ulysses size")
