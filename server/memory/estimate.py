"""estimate_memory: from a run, or a model and settings, to its memory per phase."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..configs.adapters.common import Options
from ..configs.assembly import Follower, build_runs, project_folder
from ..configs.parts import scalar
from ..configs.reading import Reading, read_pasted, read_path
from ..configs.run_config import RunConfig
from ..configs.values import InputError
from ..limits import MAX_INCLUDES
from ..model import plain
from ..store.index import section
from . import fit, phases, shapes, terms
from .answers import ChangeRow, GpuRow, HostRow, MemoryAnswer, ModelRow, PhaseRow, TermRow
from .cards import card
from .config_json import parse_config_json
from .from_run import plan_of
from .plan import Plan
from .shapes import Shape

DEFAULT_GPU = "rtx-4090"


def estimate(
    *,
    config: str = "",
    paths: Sequence[Path] = (),
    root: Path | None = None,
    model: str = "",
    gpu: str = "",
    settings: Mapping[str, Any] | None = None,
    framework: str = "",
) -> dict[str, Any]:
    """The estimate of one run as JSON types: phases with their terms, the peak, and what would make it fit.

    config or paths: a run in any syntax that validate reads; without them a run of `framework` (default verl) with its
    defaults and `settings`. model: a name that knowledge/models has, or the text of a config.json; it wins over the
    run's own, and no file that the run names is read for it.
    Raises InputError: unreadable, unknown, or sizes that no run can have.
    """
    plan, notes = plan_for(
        config=config, paths=paths, root=root, model=model, gpu=gpu, settings=settings, framework=framework
    )
    return to_data(plan, notes)


def plan_for(
    *,
    config: str = "",
    paths: Sequence[Path] = (),
    root: Path | None = None,
    model: str = "",
    gpu: str = "",
    settings: Mapping[str, Any] | None = None,
    framework: str = "",
) -> tuple[Plan, list[str]]:
    """The plan behind an estimate, and what is to be said about how it was read."""
    stated = _settings(settings or {})
    framework = str(stated.pop("framework", framework)).lower()
    gpu = str(stated.pop("gpu", "") or gpu)
    model = str(stated.pop("model", "") or model)
    options = Options(settings=stated, gpu=gpu)
    if config.strip() or paths:
        run, notes = _read(config, paths, root, options, framework)
    else:
        run, notes = _defaults(model, options, framework)
    shape = _shape(model or run.value("model"), run)
    named = gpu or run.value("gpu") or ""
    if not named:
        notes.append(f"no GPU named: {DEFAULT_GPU}")
    return plan_of(run, shape, card(str(named or DEFAULT_GPU))), notes


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's fields, known ones only."""
    known = section("fields")
    for name in settings:
        if name not in known and name != "framework":
            near = _near(str(name), known)
            raise InputError(f"{str(name)[:60]}: no such field{near}; see `grpo-guard rules --fields`")
    return {str(name): scalar(value) if isinstance(value, str) else value for name, value in settings.items()}


def _near(name: str, known: Mapping[str, Any]) -> str:
    from rapidfuzz import process

    match = process.extractOne(name, list(known), score_cutoff=60)
    return f" (did you mean {match[0]}?)" if match else ""


def _read(
    config: str, paths: Sequence[Path], root: Path | None, options: Options, framework: str
) -> tuple[RunConfig, list[str]]:
    if config.strip():
        runs = build_runs(read_pasted(config), options, framework)
        return runs[0], [] if len(runs) == 1 else [f"{len(runs)} launches were read; the estimate is of the first"]
    project = project_folder(paths[0])
    if root is not None and not project.is_relative_to(root.resolve()):
        project = root.resolve()
    options.root = project
    options.load = Follower(project, {str(path): path.resolve() for path in paths}, MAX_INCLUDES).load
    reading = Reading()
    for path in paths:
        reading.add(read_path(path, project))
    runs = build_runs(reading, options, framework)
    return runs[0], [] if len(runs) == 1 else [f"{len(runs)} launches were read; the estimate is of the first"]


# A launch on one GPU that says nothing but its framework, so that the framework's own defaults hold
_BARE = {
    "verl": (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo trainer.n_gpus_per_node=1 trainer.nnodes=1 "
        "actor_rollout_ref.rollout.tensor_model_parallel_size=1"
    ),
    "trl": "trl grpo --use_vllm true --vllm_mode colocate",
    "openrlhf": (
        "python3 -m openrlhf.cli.train_ppo_ray --algo.advantage.estimator group_norm --actor.num_nodes 1 "
        "--actor.num_gpus_per_node 1 --train.colocate_all"
    ),
}


def _defaults(model: str, options: Options, framework: str) -> tuple[RunConfig, list[str]]:
    if not model:
        raise InputError("give a config, or the name of a model (--model Qwen2.5-7B-Instruct)")
    name = framework or "verl"
    if name not in _BARE:
        raise InputError(f"no defaults for {name[:40]!r}: give a config, or one of the frameworks {', '.join(_BARE)}")
    options.settings.setdefault("model", model if shapes.known_shape(model) else "model")
    if "lora_rank" in options.settings and name == "trl":
        options.settings.setdefault("lora_alpha", options.settings["lora_rank"])
    run = build_runs(read_pasted(_BARE[name]), options, name)[0]
    return run, [f"no config: {name} on one GPU with its defaults, but for what was set"]


def _shape(model: Any, run: RunConfig) -> Shape:
    if not isinstance(model, str) or not model.strip():
        raise InputError(f"the run's {run.key_of('model')} is not known: name the model (--model Qwen2.5-7B-Instruct)")
    text = model.strip()
    if text.startswith("{"):
        return parse_config_json(text, "config.json")
    if found := shapes.known_shape(text):
        return found
    near = ", ".join(shapes.nearest_models(text))
    raise InputError(f"unknown model {text[-80:]!r}; nearest known: {near}; or give its config.json as the model")


def shortened(data: dict[str, Any], detail: str) -> dict[str, Any]:
    """An estimate with less of its detail.

    "brief" has the terms as name and GiB, the larger ones if there is no room for all, and two proposals; "normal"
    the terms of the peak with their formulas; "full" also the sources of all terms.
    """
    if detail == "full":
        return data
    if detail == "normal":
        return _without_empty({**data, "phases": [_normal(phase, data) for phase in data["phases"]]})
    shapes_ = (_brief(data, least, lines) for least, lines in _BRIEF_SHAPES)
    for short in shapes_:
        if len(json.dumps(short, ensure_ascii=False, separators=(",", ":"))) <= BRIEF_CHARS:
            break
    return short


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value not in ([], {}) or name in _ALWAYS}


def _brief(data: dict[str, Any], least: float, lines: int) -> dict[str, Any]:
    """least: smallest term that is shown, as a share of the peak. lines: most assumptions and notes."""
    gib = max(_LEAST_SHOWN_GIB, round(least * data["peak_gib"], 1))
    short = {**data, "phases": [_brief_phase(phase, data, gib) for phase in data["phases"]]}
    short["smallest_changes"] = data["smallest_changes"][:2]
    short["host"] = [{"name": row["name"], "gib": row["gib"]} for row in data["host"]]
    left_out = [f"terms below {gib:g} GiB"] if gib > _LEAST_SHOWN_GIB else []
    for name in ("assumptions", "notes"):
        rows = data.get(name, [])
        short[name] = rows[:lines]
        left_out += [f"{len(rows) - lines} more {name}"] if len(rows) > lines else []
    short["notes"] += [f"cut: {', '.join(left_out)}; raise `detail`"] if left_out else []
    return _without_empty(short)


def _brief_phase(phase: dict[str, Any], data: dict[str, Any], least: float) -> dict[str, Any]:
    told = phase["name"] == data["peak_phase"] and data["fits"]
    return _with_terms(phase, ("name", "gib", "formula") if told else ("name", "gib"), least)


def _normal(phase: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    return _with_terms(phase, ("name", "gib", "formula") if phase["name"] == data["peak_phase"] else ())


def _with_terms(phase: dict[str, Any], keep: tuple[str, ...], least: float = 0.05) -> dict[str, Any]:
    """The phase with these parts of its terms that are worth a line; without `keep` no terms at all."""
    rest = {name: value for name, value in phase.items() if name != "terms"}
    if not keep:
        return rest
    terms_ = [{name: term[name] for name in keep} for term in phase["terms"] if term["gib"] >= least]
    return {**rest, "terms": terms_}


_LEAST_SHOWN_GIB = 0.05
# Share of the peak that a term must have, most assumptions and notes: the first pair that fits is taken.
_BRIEF_SHAPES = ((0.0, 6), (0.01, 6), (0.02, 4), (0.05, 3), (0.1, 3), (0.2, 2), (1.0, 2))
BRIEF_CHARS = 3_200
_ALWAYS = ("phases", "assumptions", "smallest_changes")


# The answer -----------------------------------------------------------------------------------------------------------


def to_data(plan: Plan, notes: Sequence[str] = ()) -> dict[str, Any]:
    """A plan's estimate as JSON types, without fields that are empty."""
    found = phases.phases(plan)
    top = max(found, key=lambda phase: phase.gib)
    failing = [phase.name for phase in found if fit.problem(phase, plan.card)]
    low, high = round(top.gib - top.error_gib, 2), round(top.gib + top.error_gib, 2)
    answer = MemoryAnswer(
        model=_model(plan),
        gpu=_gpu(plan),
        framework=plan.framework,
        phases=[_phase(phase, plan) for phase in found],
        peak_gib=round(top.gib, 2),
        peak_phase=top.name,
        error_band={"low": low, "high": high},
        fits=not failing,
        failing=failing,
        rollout=_cache(plan),
        host=[HostRow(name, round(gib, 2), formula) for name, gib, formula in phases.host_gib(plan)],
        smallest_changes=[_change(proposal) for proposal in fit.smallest_changes(plan)],
        assumptions=list(plan.assumptions),
        notes=[*notes, *_warnings(plan, top)],
    )
    data: dict[str, Any] = plain(answer)
    data["phases"] = [_filled(row) for row in data["phases"]]
    return {**data, "model": _filled(data["model"])}


def _filled(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, "")}


def _gpu(plan: Plan) -> GpuRow:
    card = plan.card
    return GpuRow(card.id, card.title, card.memory_gib, round(card.visible_gib, 2), plan.trainer.world)


def _model(plan: Plan) -> ModelRow:
    shape, trainer = plan.shape, plan.trainer
    row = ModelRow(shape.name, shape.parameters(), shape.kv_bytes_per_token())
    if shape.experts:
        row.active_parameters = shape.active_parameters()
    if trainer.lora_rank:
        row.lora_parameters = shape.lora_parameters(trainer.lora_rank, trainer.lora_targets)
    return row


def _phase(phase: phases.Phase, plan: Plan) -> PhaseRow:
    why = fit.problem(phase, plan.card)
    found = sorted(phase.terms, key=lambda term: -term.size)
    rows = [TermRow(term.name, round(term.gib, 3), term.formula, term.source, term.error) for term in found]
    return PhaseRow(phase.name, rows, round(phase.gib, 2), not why, why, phase.note)


def _change(proposal: fit.Proposal) -> ChangeRow:
    return ChangeRow(proposal.changes, proposal.edits, round(proposal.peak_gib, 2), proposal.peak_phase)


def _cache(plan: Plan) -> dict[str, Any]:
    """Room for keys and values in the engine's share."""
    engine = plan.rollout
    if engine.engine not in ("vllm", "sglang", "shared"):
        return {}
    room = terms.kv_pool(plan)
    tokens = max(0, int(room / terms.kv_bytes_per_token(plan)))
    return {
        "kv_gib": round(max(0.0, room) / terms.GIB, 2),
        "kv_tokens": tokens,
        "sequences_at_once": tokens // engine.sequence,
        "sequences_asked": engine.sequences,
    }


def _warnings(plan: Plan, top: phases.Phase) -> list[str]:
    said = []
    margin = plan.card.visible_gib - top.gib
    if 0 <= margin < top.error_gib:
        said.append(
            f"it fits by {margin:.1f} GiB, which is less than the error of the estimate ({top.error_gib:.1f} GiB)"
        )
    if plan.shape.experts:
        said.append("all experts must be resident, whatever the number of active parameters")
    if plan.trainer.fsdp and plan.trainer.weights_leave:
        said.append("param_offload moves the weights back to the GPU for log-prob, update and weight sync")
    return said
