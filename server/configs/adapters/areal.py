"""AReaL: `python3 script.py --config FILE key=value`, a YAML below Hydra overrides over the dataclasses of GRPOConfig.

Which GPUs do what is a short text: `sglang:d4p1t1+fsdp:d4p1t1` (allocation_mode), or one such piece per engine in
`actor.backend` and `rollout.backend` (from 1.0.3 on).
"""

from __future__ import annotations

import re
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import load
from ..parts import Part
from ..run_config import RunConfig, UnknownKey
from ..values import Entry, Unresolved
from .common import Options, apply_options, derive_moe, dtype, product, start_run, whole
from .dotted import SettingsTree, config_parts, fill_tree, judge_keys, launch_of, overrides_of
from .engine_arguments import below, take_handed_on

_TABLE = "GRPOConfig"
_ENGINES = ("sglang", "vllm")
_RENAMED = ("free_cache_engine", "rollout_tensor_parallel")  # AReaL's own, under names of the engines
_TRAINERS = ("fsdp", "megatron", "archon")
_MAX_TEXT = 300
# One piece of an allocation: backend, optional name, dimensions ("d4p1t1", or "(attn:d4c2|ffn:d2e4)")
_PIECE = re.compile(r"(?:(?P<backend>[a-z]+)\s*)?(?:\[\s*\w+\s*\])?\s*[:.]?\s*(?P<sizes>.+)", re.DOTALL)
_DIMENSION = re.compile(r"([pdtce])\s*([1-9]\d{0,5})")
_HYBRID = re.compile(r"\(?\s*attn\s*:\s*(?P<attn>[^|()]*)\|\s*ffn\s*:\s*(?P<ffn>[^|()]*)\)?")
_FIELDS = {"d": "data_parallel_size", "t": "tensor_parallel", "p": "pipeline_parallel", "c": "context_parallel"}


def build(parts: list[Part], options: Options) -> RunConfig:
    """One run from its launch and config file."""
    data = adapter_data("areal")
    run = start_run("areal", parts, options)
    launch = launch_of(parts)
    files, named = config_parts(run, parts, options)
    sections = {entry.key.partition(".")[0] for part in files for entry in part.entries}
    if not sections >= {"actor", "gconfig"} and (launch is None or not launch.program):
        run.partial = "only a part of the run was given"
    stated = options.versions.get("areal")
    table = load("areal", [_TABLE], stated)
    run.notes += [table.note] if table.note else []
    missing = bool(named) and not files
    if missing:
        run.notes.append(f"{named} was not found: keys that the command line does not set are unknown")
    overrides, in_files = overrides_of(launch), [entry for part in files for entry in part.entries]
    tree = SettingsTree(run, table, [*in_files, *overrides])
    if reason := _other_trainer(tree, files):
        run.notes.append(reason)
        run.settings.clear()
        return run
    engine = _engine_of(tree)
    fields = {**data["fields"], **data.get(engine, data["sglang"])}
    fill_tree(run, fields, tree, f"AReaL {table.version}", defaults_known=not missing)
    judge_keys(run, table, [*in_files, *overrides], stated, stops=False, sections=tuple(data["judged"]))
    for row in run.unknown_keys:  # a key that another release has is no field that the script has added
        row.fatal = stated is not None and table.exact and table.lifecycle(row.key) is not None
    if engine:
        take_handed_on(run, engine, below(run, f"{engine}."), keep=[*fields, *_RENAMED])
    if files:
        _judge_overrides(run, overrides, in_files)
    _derive(run, data, tree)
    _derive_allocation(run)
    apply_options(run, options)
    return run


def batch(run: RunConfig) -> dict[str, Any]:
    """Prompts and samples of one step, and its optimizer steps. The token budget makes the micro-batches."""
    prompts, group = whole(run.value("train_batch_prompts")), whole(run.value("group_size"))
    steps, ranks = whole(run.value("n_mini_batches")), whole(run.value("data_parallel_size"))
    samples = product(prompts, group)
    table: dict[str, Any] = {"prompts_per_step": prompts, "samples_per_step": samples, "mini_batches": steps}
    formula = {"samples_per_step": f"{prompts} prompts x {group}"}
    if samples and ranks and samples % ranks == 0:
        table["samples_per_gpu"] = samples // ranks
        formula["samples_per_gpu"] = f"{samples} / {ranks} data-parallel ranks"
    if samples and steps and samples % steps == 0:
        table["samples_per_optimizer_step"] = samples // steps
        formula["samples_per_optimizer_step"] = f"about {samples} / {steps}: mini-batches are cut by tokens"
        table["optimizer_steps_per_rollout"] = steps
    prompt, response = whole(run.value("max_prompt_length")), whole(run.value("max_response_length"))
    if samples and prompt is not None and response is not None:
        table["tokens_per_step"] = samples * (prompt + response)
        formula["tokens_per_step"] = f"at most {samples} x ({prompt} + {response})"
    table = {name: value for name, value in table.items() if value is not None}
    shown = {name: text for name, text in formula.items() if name in table}
    return {**table, "formula": shown} if table else {}


def parse_allocation(text: str) -> list[tuple[str, dict[str, int]]]:
    """`sglang:d4p1t1+fsdp:d4` as [("sglang", {"d": 4, "p": 1, "t": 1}), ("fsdp", {"d": 4})]; [] for another text.

    Sizes default to 1. Of a hybrid (attn:...|ffn:...) those of the attention count, "e" and the "t" of the ffn part
    (as "et") come from the other. Colocated pieces (`a|b`) are listed one after the other.
    """
    hybrids: list[tuple[str, str]] = []

    def hold(match: re.Match[str]) -> str:
        hybrids.append((match["attn"], match["ffn"]))
        return f"#{len(hybrids) - 1}"

    pieces = re.split(r"[+|]", _HYBRID.sub(hold, text[:_MAX_TEXT]))
    found = [_piece(piece.strip(), hybrids) for piece in pieces]
    return [piece for piece in found if piece is not None] if all(found) else []


def _piece(text: str, hybrids: list[tuple[str, str]]) -> tuple[str, dict[str, int]] | None:
    match = _PIECE.fullmatch(text)
    if match is None or (match["backend"] or "fsdp") not in (*_ENGINES, *_TRAINERS, *_FIELDS, "e"):
        return None
    backend, sizes = match["backend"] or "", match["sizes"]
    if backend in (*_FIELDS, "e"):  # only dimensions, the first letter of which is no backend
        backend, sizes = "", text
    if held := re.fullmatch(r"#(\d+)", sizes.strip()):
        attention, experts = hybrids[int(held[1])]
        dims = _dimensions(attention)
        other = _dimensions(experts)
        if dims is None or other is None:
            return None
        return backend or "megatron", {**dims, "e": other.get("e", 1), "et": other.get("t", 1)}
    dims = _dimensions(sizes)
    if dims is None:
        return None
    return backend or ("megatron" if dims.get("p", 1) > 1 or dims.get("e", 1) > 1 else "fsdp"), dims


def _dimensions(text: str) -> dict[str, int] | None:
    compact = re.sub(r"\s+", "", text)
    if not compact or _DIMENSION.sub("", compact):
        return None
    return {name: int(size) for name, size in _DIMENSION.findall(compact)}


def world_size(sizes: dict[str, int]) -> int:
    """GPUs of one piece of an allocation; expert parallelism lives inside them."""
    return product(*(sizes.get(name, 1) for name in "dtpc")) or 1


def _other_trainer(tree: SettingsTree, files: list[Part]) -> str:
    """Why this is not the config of an RL run; "" when it may be one."""
    sections = {entry.key.partition(".")[0] for part in files for entry in part.entries}
    if files and not sections & {"gconfig", "rollout"}:
        return f"{files[0].path} has neither gconfig nor rollout: no config of an RL run; its settings are not checked"
    return ""


def _engine_of(tree: SettingsTree) -> str:
    """The rollout engine, by its own backend text, the allocation, or the section that is there."""
    for key in ("rollout.backend", "allocation_mode"):
        value = tree.value(key)
        for backend, _ in parse_allocation(value) if isinstance(value, str) else []:
            if backend in _ENGINES:
                return backend
    return "sglang" if tree.given("sglang.mem_fraction_static") or not tree.given("vllm.max_model_len") else "vllm"


def _judge_overrides(run: RunConfig, overrides: list[Entry], in_files: list[Entry]) -> None:
    """Hydra composes the file alone: an override of a key that the file lacks needs a leading +."""
    there = {entry.key for entry in in_files}
    prefixes = {key[:end] for key in there for end in range(len(key)) if key[end] == "."}
    for entry in overrides:
        inside = any(entry.key.startswith(name + ".") for name in there)
        if entry.op or entry.key in there or entry.key in prefixes or inside or "@" in entry.key:
            continue
        if all(row.key != entry.key for row in run.unknown_keys):
            note = "not in the config file: Hydra stops at start-up unless a leading + adds it"
            run.unknown_keys.append(UnknownKey(entry.key, entry.file, entry.line, [f"+{entry.key}"], note, fatal=True))


def _derive(run: RunConfig, data: dict[str, Any], tree: SettingsTree) -> None:
    for name in data["dtypes"]:
        setting = run.settings.get(name)
        if setting is not None and setting.known:
            setting.value = dtype(setting.value)
    if run.value("use_lora") is False:
        run.derive("lora_rank", 0, "use_lora is off", run.key_of("use_lora"))
    critic = tree.value("critic")
    if not isinstance(critic, Unresolved):
        run.derive("use_critic", isinstance(critic, dict), "a section critic", "critic")
    levels = [run.value(name) for name in ("reward_norm_mean", "adv_norm_mean")]
    online = "online" in (tree.value("rollout.agent.mode"), tree.value("rollout.openai.mode"))  # groups of other sizes
    if "group" in levels and run.value("use_critic") is False and not online:
        name = "reward_norm_mean" if levels[0] == "group" else "adv_norm_mean"
        run.derive("adv_estimator", "grpo", "rewards or advantages are normalised within the group", run.key_of(name))
    _derive_kl(run, tree)
    stale = run.value("max_staleness")
    if isinstance(stale, int | float) and not isinstance(stale, bool):
        run.derive("async_training", stale > 0, "rollouts may be older than the policy", run.key_of("max_staleness"))
    run.derive("use_remove_padding", True, "AReaL packs sequences")
    if not isinstance(teacher := tree.value("teacher"), Unresolved):
        run.derive("distillation", isinstance(teacher, dict), "a section teacher", "teacher")
    derive_moe(run)


def _derive_kl(run: RunConfig, tree: SettingsTree) -> None:
    """The KL penalty counts in the reward; the reference exists when its section does and the coefficient is not 0."""
    coefficient, reference = run.value("kl_coef"), tree.value("ref")
    run.derive("use_kl_loss", False, "AReaL has the KL penalty in the reward")
    if not isinstance(coefficient, int | float) or isinstance(coefficient, bool) or isinstance(reference, Unresolved):
        return
    run.derive("use_kl_in_reward", coefficient > 0, f"coefficient {coefficient}", run.key_of("kl_coef"))
    there = isinstance(reference, dict)
    run.derive("ref_section", there, "a section ref", "ref")
    run.derive("ref_policy", coefficient > 0 and there, "a section ref and a coefficient above 0", "ref")


def _derive_allocation(run: RunConfig) -> None:
    """GPUs and parallel sizes of trainer and engines, from the backend texts or the allocation mode."""
    pieces: list[tuple[str, str, dict[str, int]]] = []
    for name in ("trainer_backend", "rollout_backend"):
        if isinstance(text := run.value(name), str) and text:
            pieces += [(name, backend, sizes) for backend, sizes in parse_allocation(text)[:1]]
    if not pieces and isinstance(text := run.value("allocation"), str):
        pieces = [("allocation", backend, sizes) for backend, sizes in parse_allocation(text)]
    for name, backend, sizes in pieces:
        key = run.key_of(name)
        if backend in _ENGINES:
            run.derive("rollout_engine", backend, "the allocation", key)
            run.derive("rollout_engines", sizes.get("d", 1), "the allocation", key)
            run.derive("rollout_tensor_parallel", sizes.get("t", 1), "the allocation", key)
            run.derive("rollout_pipeline_parallel", sizes.get("p", 1), "the allocation", key)
            run.derive("rollout_gpus", world_size(sizes), "the allocation", key)
        elif "world_size" not in run.settings:
            run.derive("sharding_backend", "fsdp2" if backend == "fsdp" else backend, "the allocation", key)
            run.derive("fsdp_version", 2 if backend == "fsdp" else None, "AReaL shards with FSDP2", key)
            run.derive("world_size", world_size(sizes), "the allocation", key)
            for letter, field in _FIELDS.items():
                run.derive(field, sizes.get(letter, 1), "the allocation", key)
            run.derive("expert_parallel", sizes.get("e", 1), "the allocation", key)
