"""OpenRLHF: flags of `python -m openrlhf.cli.train_ppo_ray`, in the flat spelling (up to 0.10.1) and the dotted one.

Both spellings fill the same canonical fields. No release takes both, so the spelling alone bounds the version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import MISSING, KeyTable, load
from ..parts import Part
from ..run_config import DEFAULT, RunConfig, Setting, UnknownKey
from ..values import Entry, Lint, Unresolved
from .common import Options, apply_options, derive_moe, dtype, explicit_settings, product, start_run, whole

_TRAINER = "train_ppo_ray"
# Flags that no other framework spells this way; three of them tell a fragment without a program
_TELLING = (
    "advantage_estimator", "n_samples_per_prompt", "actor_num_gpus_per_node", "colocate_all_models", "init_kl_coef",
    "vllm_num_engines", "micro_rollout_batch_size", "micro_train_batch_size", "deepspeed_enable_sleep",
)  # fmt: skip
_SECTIONS = ("algo", "ds", "vllm", "rollout", "actor", "critic", "ref", "reward", "train", "ckpt", "logger")
_GROUP_BASELINES = {"group_norm": True, "dr_grpo": False, "rloo": False}  # whether they divide by the group's std

Given = Mapping[str, Setting]


def claims(part: Part) -> int:
    """100 for the trainer, 90 for another OpenRLHF program, up to 60 for flags alone."""
    module = part.program.replace("/", ".").removesuffix(".py")
    if module.rsplit(".", 1)[-1] == _TRAINER:
        return 100
    if "openrlhf.cli." in module:
        return 90
    if part.program:
        return 0
    names = [_bare(entry.key) for entry in part.entries if entry.key.startswith("--")]
    hits = sum(name in _TELLING or ("." in name and name.split(".", 1)[0] in _SECTIONS) for name in names)
    return min(20 * hits, 60) if hits >= 3 else 0


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch command."""
    run = start_run("openrlhf", parts, options)
    launch = max(parts, key=claims)
    flags = [entry for entry in launch.entries if entry.key.startswith("-")]
    run.native = explicit_settings(flags, run.lints)
    if claims(launch) == 90:
        run.notes.append(f"{launch.program} is not the RL trainer (train_ppo_ray); its flags are not checked")
        return run
    if not launch.program:
        run.partial = "only a part of the run was given"
    stated = options.versions.get("openrlhf")
    table = _table(run, stated, flags)
    given = {table.canonical(_bare(key)) or _bare(key): setting for key, setting in run.native.items()}
    _fill(run, adapter_data("openrlhf")["fields"], given, table)
    _judge_flags(run, launch, table, stated)
    _derive(run, given, table)
    apply_options(run, options)
    _derive_parallelism(run)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Prompts, samples, tokens and steps of one rollout, as far as they can be computed."""
    prompts, group = whole(run.value("rollout_batch_prompts")), whole(run.value("group_size"))
    train, micro = whole(run.value("train_batch_samples")), whole(run.value("micro_batch_per_gpu"))
    dp, epochs = whole(run.value("data_parallel_size")), whole(run.value("ppo_epochs"))
    samples = product(prompts, group)
    dynamic = run.value("use_dynamic_bsz")
    table: dict[str, Any] = {"prompts_per_step": prompts, "samples_per_step": samples}
    formula = {"samples_per_step": f"{prompts} x {group}"}
    tokens = product(samples, run.value("max_model_len"))
    if tokens is not None:
        table["tokens_per_step"] = tokens
        formula["tokens_per_step"] = f"at most {samples} x {run.value('max_model_len')}"
    if samples and dp and samples % dp == 0:
        table["samples_per_gpu"], formula["samples_per_gpu"] = samples // dp, f"{samples} / {dp}"
    table["samples_per_optimizer_step"] = train
    if samples and train:
        table["mini_batches"], formula["mini_batches"] = samples // train, f"{samples} // {train}"
        if epochs:
            table["optimizer_steps_per_rollout"] = samples // train * epochs
    if train and micro and dp and dynamic is False and train % (micro * dp) == 0:
        table["micro_steps"], formula["micro_steps"] = train // (micro * dp), f"{train} / ({micro} x {dp})"
    table = {name: value for name, value in table.items() if value is not None}
    shown = {name: text for name, text in formula.items() if name in table}
    return {**table, "formula": shown} if table else {}


def _bare(flag: str) -> str:
    return flag.lstrip("-")


def _is_dotted(flags: Sequence[Entry]) -> bool | None:
    """Whether the flags have the dotted spelling, by majority; None when none of them tells."""
    fields = adapter_data("openrlhf")
    spellings = [name for group in ("fields", "derived_from") for names in fields[group].values() for name in names]
    flat = {name for name in spellings if "." not in name}
    names = [_bare(entry.key) for entry in flags]
    dotted = sum("." in name for name in names)
    plain = sum(name in flat for name in names)
    return dotted >= plain if dotted or plain else None


def _table(run: RunConfig, stated: str | None, flags: Sequence[Entry]) -> KeyTable:
    """Keys of the stated version, else of the newest release with the spelling in use."""
    data = adapter_data("openrlhf")
    if stated is not None or _is_dotted(flags) is not False:
        table = load("openrlhf", [_TRAINER], stated)
        run.notes += [table.note] if table.note else []
        return table
    run.notes.append(
        f"flat flag names: OpenRLHF before {data['first_dotted']}; defaults are those of {data['last_flat']}"
    )
    return load("openrlhf", [_TRAINER], data["last_flat"])


def _fill(run: RunConfig, fields: Mapping[str, Sequence[str]], given: Given, table: KeyTable) -> None:
    """Canonical fields from the flags given, else from the defaults of the table. Flags keep their dashes."""
    version = f"OpenRLHF {table.version}"
    for name, spellings in fields.items():
        known = next((spelling for spelling in spellings if table.exists(spelling)), None)
        setting = next((given[spelling] for spelling in spellings if spelling in given), None)
        if known is not None:
            run.keys[name] = f"--{known}"
        if setting is not None:
            run.keys[name] = setting.key
            run.set_explicit_like(name, setting, setting.value)
        elif known is not None and (default := table.default(known)) is not MISSING:
            run.settings[name] = Setting(name, f"--{known}", default, DEFAULT, version=version)


def _judge_flags(run: RunConfig, launch: Part, table: KeyTable, stated: str | None) -> None:
    """What argparse refuses: a flag it does not know, a value after a switch, a word that belongs to no flag.

    Without a stated version a flag counts as unknown when no release has it, or when it mixes the two spellings.
    """
    exact = stated is not None and table.exact
    dotted = _is_dotted(launch.entries)
    for entry in launch.entries:
        name = _bare(entry.key)
        if table.canonical(name) is not None or not entry.key.startswith("--"):
            _judge_value(run, entry, table, exact)
            continue
        reason = table.explain_unknown(name)
        mixed = dotted is not None and ("." in name) is not dotted and table.lifecycle(name) is not None
        if exact or mixed or table.lifecycle(name) is None:
            meant = [f"--{similar}" for similar in reason.did_you_mean]
            fatal = exact or mixed
            new_name = f"--{reason.new_name}" if reason.new_name else ""
            run.unknown_keys.append(UnknownKey(entry.key, entry.file, entry.line, meant, reason.note, fatal, new_name))
    for word in launch.positional:
        if word.known and word.text:
            run.lints.append(_refused(f"{word.text!r} belongs to no flag", word.file, word.line))


def _judge_value(run: RunConfig, entry: Entry, table: KeyTable, exact: bool) -> None:
    """A value after a switch, or one that is no choice of the flag."""
    if isinstance(entry.value, Unresolved) or not entry.text.strip():
        return
    name, choices = _bare(entry.key), table.choices(_bare(entry.key))
    if table.type(name) == "bool":
        run.lints.append(_refused(f"{entry.key} is a switch and takes no value ({entry.text})", entry.file, entry.line))
    elif choices and entry.value not in choices:
        text = f"{entry.key} {entry.text}: no choice of OpenRLHF {table.version}; argparse stops with 'invalid choice'."
        allowed = ", ".join(str(choice) for choice in choices)
        severity = "error" if exact else "warning"
        run.lints.append(Lint("invalid-choice", text, entry.file, entry.line, severity, f"Choose one of {allowed}."))


def _refused(what: str, file: str, line: int) -> Lint:
    text = f"{what}; argparse stops with 'unrecognized arguments'."
    return Lint("stray-argument", text, file, line, "error", "Remove the word.")


def _derive(run: RunConfig, given: Given, table: KeyTable) -> None:
    source = adapter_data("openrlhf")["derived_from"]
    effective = RunConfig("openrlhf")  # the flags behind computed fields, defaults included
    _fill(effective, source, given, table)
    _derive_algorithm(run, effective)
    _derive_optimizer(run, effective)
    _derive_rollout(run, effective)
    run.derive("sharding_backend", "deepspeed", "OpenRLHF trains with DeepSpeed")
    derive_moe(run)


def _take(run: RunConfig, name: str, source: RunConfig, value: Any) -> None:
    """A field computed from one flag, at that flag's place."""
    if (setting := source.settings.get(name)) is not None:
        run.set_explicit_like(name, setting, value if setting.known else setting.value)


def _derive_algorithm(run: RunConfig, effective: RunConfig) -> None:
    _derive_clipping(run, effective)
    _derive_estimator(run)
    _derive_kl(run)
    _derive_switch(run, "reward_shaping", effective, ("overlong_penalty", "truncation_penalty"))
    _derive_switch(run, "remote_reward", effective, ("remote_model", "agent_function"))
    _derive_switch(run, "reward_model", effective, ("reward_model",))


def _derive_clipping(run: RunConfig, effective: RunConfig) -> None:
    """eps_clip_low_high holds where it is given, else eps_clip for both sides."""
    for index, name in enumerate(("clip_ratio", "clip_ratio_high")):
        pair, single = effective.settings.get("clip_pair"), effective.settings.get("clip_range")
        if pair is not None and pair.origin != DEFAULT:
            is_pair = isinstance(pair.value, list) and len(pair.value) == 2
            run.set_explicit_like(name, pair, pair.value[index] if is_pair else Unresolved(str(pair.value)))
        elif single is not None:
            run.set_explicit_like(name, single, single.value)


def _derive_estimator(run: RunConfig) -> None:
    estimator, key = run.value("adv_estimator"), run.key_of("adv_estimator")
    if not isinstance(estimator, str):
        return
    note = f"advantage estimator {estimator}"
    run.derive("use_critic", estimator == "gae", note, key)
    run.derive("norm_adv_by_std", _GROUP_BASELINES.get(estimator), note, key)
    if (common := adapter_data("openrlhf")["estimators"].get(estimator)) is not None:
        run.settings["adv_estimator"].value = common
        run.settings["adv_estimator"].note = f"OpenRLHF calls it {estimator}"


def _derive_kl(run: RunConfig) -> None:
    """One coefficient, which counts in the loss or in the reward; 0 means no reference model."""
    coefficient, in_loss, key = run.value("kl_coef"), run.value("use_kl_loss"), run.key_of("kl_coef")
    if not isinstance(coefficient, int | float):
        return
    run.derive("ref_policy", coefficient > 0, f"KL coefficient {coefficient}", key)
    if "kl_unbiased_gradient" not in run.settings:
        run.derive("kl_unbiased_gradient", False, "this version has no such flag")
    if isinstance(in_loss, bool):
        note = f"KL coefficient {coefficient}, KL in the loss: {str(in_loss).lower()}"
        run.derive("use_kl_in_reward", coefficient > 0 and not in_loss, note, key)
        run.derive("kl_reward_coef", 0 if in_loss else coefficient, note, key)


def _derive_switch(run: RunConfig, name: str, effective: RunConfig, flags: Sequence[str]) -> None:
    """A field that is true when one of the flags is given."""
    settings = [effective.settings[flag] for flag in flags if flag in effective.settings]
    if settings:
        chosen = next((setting for setting in settings if setting.value is not None), settings[0])
        run.set_explicit_like(name, chosen, chosen.value is not None)


def _derive_optimizer(run: RunConfig, effective: RunConfig) -> None:
    offload, chosen = run.value("offload_optimizer"), run.value("optimizer")
    if isinstance(offload, bool):
        _take(run, "offload_optimizer", run, "cpu" if offload else False)
        if chosen in (None, "adam"):
            name, key = "cpu_adam" if offload else "adamw", run.key_of("offload_optimizer")
            run.derive("optimizer", name, "DeepSpeed's AdamW, on the CPU with adam_offload", key)
    if chosen == "muon" and (rate := effective.settings.get("muon_learning_rate")) is not None:
        run.set_explicit_like("learning_rate", rate, rate.value)
    if (precision := run.settings.get("model_dtype")) is not None and precision.known:
        precision.value = dtype(precision.value)
        for name, wanted in (("bf16", "bfloat16"), ("fp16", "float16")):
            run.set_explicit_like(name, precision, precision.value == wanted)
    elif run.value("bf16") is True:  # up to 0.8: without the switch the checkpoint's own dtype is loaded
        run.set_explicit_like("model_dtype", run.settings["bf16"], "bfloat16")


def _derive_rollout(run: RunConfig, effective: RunConfig) -> None:
    generated = run.settings.get("generate_batch_prompts")
    if generated is not None and generated.origin == DEFAULT and (rollout := run.settings.get("rollout_batch_prompts")):
        run.derive("generate_batch_prompts", rollout.value, f"unset: {rollout.key}", generated.key)
    engines = run.value("rollout_engines")
    if whole(engines):
        run.derive("rollout_engine", "vllm", f"{engines} vLLM engines", run.key_of("rollout_engines"))
    asleep, shared = run.value("sleep_mode"), run.value("colocate")
    if isinstance(asleep, bool) and isinstance(shared, bool):
        key, sleeps = run.key_of("sleep_mode"), asleep and shared
        run.derive(
            "free_cache_engine", sleeps, "engines sleep only with the switch and all models on one set of GPUs", key
        )
        run.derive("sleep_level", 1 if sleeps else None, "OpenRLHF calls sleep(level=1)", key)
    if run.value("use_remove_padding") is False:
        for name in ("use_dynamic_bsz", "context_parallel"):
            if run.value(name) is True or (whole(run.value(name)) or 0) > 1:
                run.derive("use_remove_padding", True, f"{run.key_of(name)} switches packing on", run.key_of(name))
    correction = effective.value("rollout_is")
    if isinstance(correction, bool):  # up to 0.11.1 a switch and a type
        by_sequence = effective.value("rollout_is_type") == "seq-mask-tis"
        correction = ("sequence" if by_sequence else "token") if correction else None
    else:
        correction = {"off": None, "seq": "sequence"}.get(str(correction), correction)
    _take(run, "rollout_is", effective, correction)


def _derive_parallelism(run: RunConfig) -> None:
    """World and data-parallel size of the policy's own group of GPUs."""
    if "world_size" not in run.settings:
        note = f"{run.key_of('nnodes')} x {run.key_of('n_gpus')}"
        run.derive("world_size", product(run.value("nnodes"), run.value("n_gpus")), note, run.key_of("n_gpus"))
    world = whole(run.value("world_size"))
    copies = product(run.value("context_parallel"), run.value("tensor_parallel"))
    if world and copies and world % copies == 0:
        run.derive("data_parallel_size", world // copies, "world size over ring attention x tensor parallel size")
