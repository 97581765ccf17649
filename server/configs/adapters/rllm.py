"""rLLM: Hydra overrides on its own trainers, most often on top of verl.

For the verl backend the run is built by the verl adapter, at the verl release that rLLM pins, after the knobs that
exist twice have been mirrored the way rLLM does at start-up. The hosted backends (tinker, fireworks) need no verl.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...store.index import adapter as adapter_data
from ...store.versions import in_range
from ..keys import MISSING, KeyTable, load
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting, UnknownKey
from ..values import Entry, Lint, Unresolved
from . import verl, verl_batch
from .common import Options, apply_options, derive_moe, explicit_settings, product, start_run, whole

UNIFIED, LEGACY = "unified", "legacy"
_BACKEND_KEYS = ("rllm/backend", "rllm.backend")
_HOSTED = ("tinker", "fireworks")
_UNIFIED_SECTIONS = ("rllm.rollout.", "rllm.algorithm.", "rllm.trainer.", "rllm.data.", "rllm.async_training.")
_CLIP = "actor_rollout_ref.actor.clip_ratio"
_CLIP_LOW = "actor_rollout_ref.actor.clip_ratio_low"
_KL_LOSS = "actor_rollout_ref.actor.use_kl_loss"
_SYNC_BACKEND = "actor_rollout_ref.rollout.checkpoint_engine.backend"
_MINI_BATCH = "actor_rollout_ref.actor.ppo_mini_batch_size"


def claims(part: Part) -> int:
    """100 for rLLM's own programs, 90 for keys of rLLM: more than verl claims for the verl keys beside them."""
    program = part.program.replace("/", ".")
    if program.startswith("rllm.") or ".rllm.trainer." in program:
        return 100
    if any(entry.key in _BACKEND_KEYS or entry.key.startswith("rllm.") for entry in part.entries):
        return 90
    return 85 if _config_name(part) == "tinker_rl_trainer" else 0


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch and config files (files first, the launch's overrides win)."""
    files = [part for part in parts if part.format != "shell"]
    launches = [part for part in parts if part.format == "shell"]
    entries = [
        *(replace(entry, op="++") for part in files for entry in part.entries),  # a file may bring keys of its own
        *(entry for part in launches for entry in part.entries if not entry.key.startswith("-")),
    ]
    stated = options.versions.get("rllm")
    trainer, backend = _trainer(launches, entries, stated), _backend(launches, entries)
    table = _table(trainer, backend, stated)
    if backend in _HOSTED:
        run = _hosted(parts, entries, options, backend, table)
    else:
        run = _on_verl(parts, entries, options, trainer, table)
    _fill_own(run, adapter_data("rllm")["fields"], table)
    _judge_own_keys(run, entries, table, backend, certain=bool(trainer) and stated is not None and table.exact)
    for name, value in (("rllm_trainer", trainer or None), ("rllm_backend", backend)):
        run.derive(name, value, "from program and keys", "rllm/backend")
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """verl's table, a trajectory of several turns counting as one sample.

    Asynchronous training takes single prompts; there only the optimizer step has a size.
    """
    if run.value("async_training") is not True:
        return verl_batch.batch(run)
    prompts, group = whole(run.value("async_mini_batch")), whole(run.value("group_size"))
    samples = product(prompts, group)
    if samples is None:
        return {}
    return {"samples_per_optimizer_step": samples, "formula": {"samples_per_optimizer_step": f"{prompts} x {group}"}}


def _config_name(part: Part) -> str:
    name = part.last("--config-name") or part.last("-cn")
    return str(name.value).removesuffix(".yaml") if name is not None else ""


def _trainer(launches: Iterable[Part], entries: Iterable[Entry], stated: str | None) -> str:
    """UNIFIED, LEGACY, or "" when neither program nor keys tell; then what the two set differently is unknown.

    The unified trainer of 0.3.0-pre mirrors its keys in another way than main, and counts as "" too.
    """
    for part in launches:
        if part.program.endswith("train_agent_ppo") or _config_name(part).startswith("agent_ppo_trainer"):
            return LEGACY
    if stated is not None and in_range(stated, "<0.3.0.dev0"):
        return LEGACY
    keys = [entry.key for entry in entries]
    unified = any(key in _BACKEND_KEYS or key.startswith(_UNIFIED_SECTIONS) for key in keys)
    on_main = stated is None or in_range(stated, f">={adapter_data('rllm')['main']}")
    return UNIFIED if unified and on_main else ""


def _backend(launches: Iterable[Part], entries: Iterable[Entry]) -> str:
    if any(_config_name(part).startswith("tinker") for part in launches):
        return "tinker"
    chosen = [str(entry.value) for entry in entries if entry.key in _BACKEND_KEYS]
    return chosen[-1] if chosen else "verl"


def _table(trainer: str, backend: str, stated: str | None) -> KeyTable:
    """Keys that rLLM's own files add; what a trainer that is not known sets is taken from the legacy one's file."""
    names = adapter_data("rllm")["tables"]
    unified = names.get(backend, names["verl"])
    legacy = names["legacy_tinker" if backend == "tinker" else "legacy"]
    return load("rllm", [unified if trainer == UNIFIED or backend == "fireworks" else legacy], stated)


# -- on verl --


@dataclass(slots=True)
class _Mirror:
    """The overrides as verl gets to see them, and which of them stand for keys or defaults of rLLM."""

    given: dict[str, Entry]  # verl key -> entry, in order
    renamed: dict[str, str] = field(default_factory=dict)  # verl key -> key of rLLM that the user wrote
    defaults: dict[str, str] = field(default_factory=dict)  # verl key -> key whose default in rLLM it is
    lints: list[Lint] = field(default_factory=list)

    def set_default(self, verl_key: str, value: Any, key: str) -> None:
        if verl_key not in self.given and value is not MISSING:
            self.given[verl_key] = Entry(verl_key, value, "", 0, op="++")
            self.defaults[verl_key] = key

    def force(self, verl_key: str, value: Any, key: str) -> None:
        """What start-up code sets whatever the user wrote."""
        written = self.given.pop(verl_key, None)
        if written is not None and written.line and written.value != value:
            name = self.renamed.get(verl_key, verl_key)
            text = f"{name}={written.value} has no effect: rLLM sets it to {value} ({key})."
            self.lints.append(Lint("value-without-effect", text, written.file, written.line, "warning"))
        self.renamed.pop(verl_key, None)
        self.set_default(verl_key, value, key)


def _on_verl(parts: list[Part], entries: list[Entry], options: Options, trainer: str, table: KeyTable) -> RunConfig:
    pinned = load("rllm", ["requires"], options.versions.get("rllm")).default("verl")
    pin = options.versions.get("verl") or (pinned if isinstance(pinned, str) else None)
    mirror = _mirror(entries, trainer, table)
    launch = Part("shell", parts[0].path, program="verl.trainer.main_ppo", entries=list(mirror.given.values()))
    below = {**options.versions, "verl": pin} if pin else dict(options.versions)
    run = verl.build([launch], replace(options, versions=below))
    _take_over(run, parts, entries, options, mirror)
    _relabel(run, mirror, f"rLLM {table.version}" + (f", {trainer} trainer" if trainer else ""))
    run.notes = [note for note in run.notes if not note.startswith("no verl version")]
    if "rllm" not in options.versions:
        run.notes.append(f"no rllm version given: {table.version} with verl {pin} is assumed")
        if "verl" not in options.versions:
            run.versions.pop("verl", None)
            _judge_without_version(run, pin)
    if not trainer:
        _forget_shared(run)
    return run


def _mirror(entries: list[Entry], trainer: str, table: KeyTable) -> _Mirror:
    """verl's view of the overrides after rLLM's own files and start-up code."""
    prefixes = tuple(adapter_data("rllm")["own_prefixes"])
    mirror = _Mirror({e.key: e for e in entries if not e.key.startswith(prefixes) and e.key not in _BACKEND_KEYS})
    written = {entry.key: entry for entry in entries}
    for own, native in adapter_data("rllm")["shared"].items():
        if (entry := written.get(own)) is not None:
            _note_conflict(mirror, entry, written.get(native))
            mirror.given.pop(native, None)
            mirror.given[native] = replace(entry, key=native, op="++")
            mirror.renamed[native] = own
    values = {key: entry.value for key, entry in written.items()}
    for key in table:
        if not key.startswith(prefixes) and key not in _BACKEND_KEYS and "/" not in key:
            mirror.set_default(key, table.resolved_default(key, values), key)
    if trainer == UNIFIED:
        _mirror_unified(mirror, written, table)
    return mirror


def _note_conflict(mirror: _Mirror, own: Entry, native: Entry | None) -> None:
    if native is not None and native.value != own.value:
        text = f"{own.key}={own.value} wins over {native.key}={native.value}, which has no effect."
        fix = f"Keep {own.key} only."
        mirror.lints.append(Lint("shared-key-conflict", text, native.file, native.line, "warning", fix))


def _mirror_unified(mirror: _Mirror, written: Mapping[str, Entry], table: KeyTable) -> None:
    """Defaults of the unified trainer, and the settings of verl that it computes."""
    asynchronous = _value(written, "rllm.async_training.enable", False) is True
    if (clip := written.get("rllm.algorithm.eps_clip")) is not None:
        mirror.given[_CLIP_LOW] = replace(clip, key=_CLIP_LOW, op="++")
        mirror.renamed[_CLIP_LOW] = clip.key
    elif (low := mirror.given.get(_CLIP_LOW)) is not None:
        mirror.given.setdefault(_CLIP, low)
    values = {key: entry.value for key, entry in written.items()}
    for own, native in adapter_data("rllm")["shared"].items():
        default = table.resolved_default(own, values)
        if default is not MISSING and default is not None:  # null leaves verl's own default
            mirror.set_default(native, default, own)
    for native in (_CLIP_LOW, "actor_rollout_ref.actor.clip_ratio_high"):
        mirror.set_default(native, mirror.given[_CLIP].value, "rllm.algorithm.eps_clip")
    beta = mirror.given["actor_rollout_ref.actor.kl_loss_coef"].value
    on = beta > 0 if isinstance(beta, int | float) else Unresolved("", ("rllm.algorithm.kl_beta",))
    mirror.set_default(_KL_LOSS, on, "rllm.algorithm.kl_beta")
    _mirror_placement(mirror, written, table, asynchronous)


def _mirror_placement(mirror: _Mirror, written: Mapping[str, Entry], table: KeyTable, asynchronous: bool) -> None:
    """Colocated training forces the naive weight transfer; asynchronous training nccl and its own batch sizes."""
    transfer = mirror.given.get(_SYNC_BACKEND)
    switch, mini = "rllm.async_training.enable", "rllm.async_training.mini_batch_size"
    if not asynchronous:
        mirror.force(_SYNC_BACKEND, "naive", switch)
        return
    mirror.force(_MINI_BATCH, _value(written, mini, table.default(mini)), mini)
    mirror.force("data.train_batch_size", 1, switch)
    if transfer is None or transfer.value == "naive":
        mirror.force(_SYNC_BACKEND, "nccl", switch)


def _value(written: Mapping[str, Entry], key: str, otherwise: Any) -> Any:
    entry = written.get(key)
    return otherwise if entry is None else entry.value


def _take_over(run: RunConfig, parts: list[Part], entries: list[Entry], options: Options, mirror: _Mirror) -> None:
    """Places, lints and native settings of the user's own parts instead of those of verl's view."""
    own = start_run("rllm", parts, options)
    run.framework, run.line, run.weight = "rllm", own.line, own.weight
    run.sources, run.env, run.assumptions = own.sources, own.env, own.assumptions
    run.lints = own.lints + mirror.lints
    run.native = explicit_settings(entries, run.lints)
    run.notes = own.notes + run.notes
    run.versions = {**options.versions, **run.versions}


def _relabel(run: RunConfig, mirror: _Mirror, label: str) -> None:
    """Settings under the keys that the user wrote, and rLLM's defaults as defaults."""
    shared = {native: own for own, native in adapter_data("rllm")["shared"].items()}
    for setting in run.settings.values():
        if setting.key in mirror.defaults:
            setting.key, setting.origin, setting.version = mirror.defaults[setting.key], DEFAULT, label
        elif setting.key in mirror.renamed:
            setting.key = mirror.renamed[setting.key]
    run.keys = {name: shared.get(key, key) if key not in run.native else key for name, key in run.keys.items()}


def _judge_without_version(run: RunConfig, pin: str | None) -> None:
    """Without a stated version only keys that no verl release knows are reported."""
    table = load("verl", ["ppo_trainer", "ppo_megatron_trainer"], pin)
    run.unknown_keys = [
        replace(unknown, fatal=False) for unknown in run.unknown_keys if table.lifecycle(unknown.key) is None
    ]


def _forget_shared(run: RunConfig) -> None:
    """Which trainer runs is not known: the defaults that the two set differently are unknown."""
    natives = set(adapter_data("rllm")["shared"].values()) | {_CLIP_LOW, _KL_LOSS}
    derived = {"use_critic", "ref_policy"}
    for setting in run.settings.values():
        if setting.origin == DEFAULT and setting.key in natives:
            setting.value = Unresolved("", (setting.key,))
    for name in derived & run.settings.keys():
        if run.settings[name].origin != EXPLICIT:
            run.settings[name].value = Unresolved("", ("the trainer's config",))
    run.notes.append("which of rLLM's trainers runs is not said; what they set differently is unknown")


# -- hosted backends and rLLM's own settings --


def _hosted(parts: list[Part], entries: list[Entry], options: Options, backend: str, table: KeyTable) -> RunConfig:
    run = start_run("rllm", parts, options)
    run.native = explicit_settings(entries, run.lints)
    run.notes += [table.note] if table.note else []
    _fill_own(run, adapter_data("rllm")["hosted"], table)
    run.derive("rollout_engine", backend, "the hosted backend generates", "rllm/backend")
    run.derive("use_critic", False, "rLLM's estimators have no critic", run.key_of("adv_estimator"))
    derive_moe(run)
    return run


def _fill_own(run: RunConfig, fields: Mapping[str, list[str]], table: KeyTable) -> None:
    """Fields from the user's settings, else from the defaults of rLLM's own file.

    The first key of a field with a value wins, as `rllm.*` does over the backend's own name.
    """
    explicit = {key: setting.value for key, setting in run.native.items()}
    for name, keys in fields.items():
        has = [key for key in keys if table.exists(key)]
        written = next((run.native[key] for key in keys if key in run.native), None)
        if written is not None:
            run.keys[name] = written.key
            run.set_explicit_like(name, written, written.value)
        elif has:
            run.keys[name] = has[0]
            value = table.resolved_default(has[0], explicit)
            if value is not MISSING:
                run.settings[name] = Setting(name, has[0], value, DEFAULT, version=f"rLLM {table.version}")


def _judge_own_keys(run: RunConfig, entries: Iterable[Entry], table: KeyTable, backend: str, certain: bool) -> None:
    """Keys of rLLM's own sections that Hydra refuses; without trainer and version only those that no release has."""
    sections = tuple(adapter_data("rllm")["own_prefixes"]) if backend in _HOSTED else ("rllm.",)
    for entry in entries:
        if entry.op or not entry.key.startswith(sections) or entry.key in _BACKEND_KEYS or table.known(entry.key):
            continue
        if certain or table.lifecycle(entry.key) is None:
            reason = table.explain_unknown(entry.key)
            meant = list(reason.did_you_mean)
            run.unknown_keys.append(
                UnknownKey(entry.key, entry.file, entry.line, meant, reason.note, certain, reason.new_name)
            )
