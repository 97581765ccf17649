"""NeMo-RL's assertions at start-up: back ends, asynchronous training, losses and engines."""

from __future__ import annotations

from typing import Any

from ..configs.adapters.common import whole
from ..configs.adapters.engine_arguments import below
from ..configs.run_config import RunConfig
from ..store.index import adapter
from ..store.versions import in_range
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome
from .startup import Clash, first_clash
from .verl_common import open_question

_CORRECTION = "Set {rollout_is.key}=true."


def one_backend(run: RunConfig) -> Outcome:
    """Exactly one of the Megatron and the DTensor back end is enabled."""
    if missing := open_question(run, "megatron_backend", "dtensor_backend"):
        return missing
    megatron, dtensor = run.value("megatron_backend") is True, run.value("dtensor_backend") is True
    if megatron is not dtensor:
        return PASS
    what = "are both true" if megatron else "are both false"
    return Hit(
        "megatron_backend",
        f"{{megatron_backend.key}} and {{dtensor_backend.key}} {what}; NeMo-RL stops at start-up.",
        "Enable exactly one of them.",
        {"dtensor_backend": False} if megatron else {"dtensor_backend": True},
    )


def engine_argument_twice(run: RunConfig) -> Outcome:
    """vLLM's constructor gets each keyword once: from NeMo-RL, or from the section of further keywords."""
    data = adapter("nemo-rl")
    section = str(data["engine_section"])
    given = below(run, section)
    twice = next((name for name in data["engine_given"] if name in given), None)
    if twice is None:
        return PASS
    return Hit(
        "",
        f"{section}{twice} is an argument that NeMo-RL gives to vLLM itself; Python refuses the second one when the "
        "engine is built.",
        f"Remove {section}{twice}; where policy.generation.vllm_cfg has such a key, set that one.",
    )


def asynchronous_training(run: RunConfig) -> Outcome:
    """What asynchronous GRPO needs, and what it refuses."""
    if run.value("async_training") is not True:
        return open_question(run, "async_training") or NOT_APPLICABLE
    name = "{async_training.key} is on"
    version = run.versions.get("nemo-rl")  # after 0.7.0 the restriction is gone on the main branch
    own_gpus = in_range(version, "<=0.7.0") if version is not None else run.value("rollout_engine") != "megatron"
    shared: list[Clash] = [
        (
            ("colocate",),
            lambda value: value is True,
            "colocate",
            f"{name}, but {{colocate.key}} is true: trainer and engines must have GPUs of their own; NeMo-RL stops "
            "at start-up.",
            "Set {colocate.key}=false and give the engines GPUs by {rollout_n_gpus.key}.",
            {"colocate": False},
        ),
    ]
    refused: list[Clash] = [
        (
            (field,),
            lambda value: value is True,
            field,
            f"{name} together with {{{field}.key}}; NeMo-RL stops at start-up.",
            f"Switch {{{field}.key}} off.",
            {field: False},
        )
        for field in ("filter_groups", "reward_scaling", "reward_shaping")
        if field in run.settings
    ]
    engine = (
        [
            (
                ("async_engine",),
                lambda value: value is not True,
                "async_engine",
                f"{name}, but {{async_engine.key}} is not; NeMo-RL stops at start-up.",
                "Set {async_engine.key}=true.",
                {"async_engine": True},
            ),
        ]
        if run.value("rollout_engine") == "vllm"
        else []
    )
    return first_clash(
        run,
        [
            (
                ("rollout_is",),
                lambda value: value is not True,
                "rollout_is",
                f"{name}, but {{rollout_is.key}} is not; NeMo-RL stops at start-up, as the samples are off-policy.",
                _CORRECTION,
                {"rollout_is": True},
            ),
            *(shared if own_gpus else []),
            *engine,
            *refused,
        ],
    )


def truncated_sampling(run: RunConfig) -> Outcome:
    """Truncated importance sampling: a kind that is known, with the bounds that it needs, on top of the correction."""
    kind = run.value("truncated_is_type")
    if kind is None:
        return open_question(run, "truncated_is_type") or NOT_APPLICABLE
    low, key = "truncated_is_ratio_min", "{truncated_is_type.key}={truncated_is_type}"
    return first_clash(
        run,
        [
            (
                ("rollout_is",),
                lambda value: value is not True,
                "rollout_is",
                f"{key} needs {{rollout_is.key}}; NeMo-RL stops at start-up.",
                _CORRECTION,
                {"rollout_is": True},
            ),
            (
                ("truncated_is_type",),
                lambda value: value not in ("tis", "icepop", "seq-mask-tis"),
                "truncated_is_type",
                f"{key} is none of tis, icepop, seq-mask-tis; NeMo-RL stops at start-up.",
                "Choose one of the three.",
                {},
            ),
            (
                ("truncated_is_ratio",),
                lambda value: not _above(value, 0),
                "truncated_is_ratio",
                f"{key} needs {{truncated_is_ratio.key}} above 0; NeMo-RL stops at start-up.",
                "Set {truncated_is_ratio.key}, such as 2.",
                {},
            ),
            (
                (low,),
                lambda value: value is None and kind in ("icepop", "seq-mask-tis"),
                low,
                f"{key} needs {{{low}.key}}; NeMo-RL stops at start-up.",
                f"Set {{{low}.key}}, such as 0.5.",
                {},
            ),
            (
                (low, "truncated_is_ratio"),
                lambda bottom, top: _above(bottom, top),
                low,
                f"{{{low}.key}} lies above {{truncated_is_ratio.key}}; NeMo-RL stops at start-up.",
                "Exchange the two bounds.",
                {},
            ),
        ],
    )


def cispo_conflicts(run: RunConfig) -> Outcome:
    """CISPO works on clipped ratios of tokens and on nothing else."""
    if run.value("cispo") is not True:
        return open_question(run, "cispo") or NOT_APPLICABLE
    tail = "does not go with {cispo.key}; NeMo-RL stops at start-up."
    off = [
        (
            (name,),
            lambda value: value is True,
            name,
            f"{{{name}.key}} {tail}",
            f"Switch {{{name}.key}} off.",
            {name: False},
        )
        for name in ("disable_ratio", "on_policy_ratio", "sequence_level_ratio")
    ]
    return first_clash(
        run,
        [
            *off,
            (
                ("dual_clip",),
                lambda value: value is not None,
                "dual_clip",
                f"{{dual_clip.key}}={{dual_clip}} {tail}",
                "Set {dual_clip.key}=null.",
                {"dual_clip": None},
            ),
            (
                ("token_level_loss",),
                lambda value: value is False,
                "token_level_loss",
                f"{{token_level_loss.key}}=false {tail}",
                "Set {token_level_loss.key}=true.",
                {"token_level_loss": True},
            ),
        ],
    )


def engine_resources(run: RunConfig) -> Outcome:
    """Engines that are not colocated: a part of the only node, or whole nodes."""
    if run.value("colocate") is not False:
        return open_question(run, "colocate") or NOT_APPLICABLE
    if missing := open_question(run, "nnodes", "n_gpus", "rollout_n_gpus", "rollout_nnodes"):
        return missing
    nodes, gpus = whole(run.value("nnodes")), whole(run.value("n_gpus"))
    own, own_nodes = whole(run.value("rollout_n_gpus")), whole(run.value("rollout_nnodes"))
    if not nodes or not gpus:
        return NOT_APPLICABLE
    stops = "NeMo-RL stops at start-up."
    if nodes == 1:
        if not own or own >= gpus:
            text = f"{{rollout_n_gpus.key}}={{rollout_n_gpus}} must be between 1 and {gpus - 1} of {gpus} GPUs"
            return Hit("rollout_n_gpus", f"{text}; {stops}", "Set {rollout_n_gpus.key}.")
        return PASS
    if not own_nodes or own_nodes >= nodes:
        text = (
            f"{{rollout_nnodes.key}}={{rollout_nnodes}} must be between 1 and {nodes - 1} of the {nodes} nodes; {stops}"
        )
        return Hit("rollout_nnodes", text, "Set {rollout_nnodes.key}.")
    if own != gpus:
        text = f"{{rollout_n_gpus.key}}={{rollout_n_gpus}} must equal {{n_gpus.key}}={gpus} on several nodes; {stops}"
        return Hit("rollout_n_gpus", text, f"Set {{rollout_n_gpus.key}}={gpus}.", {"rollout_n_gpus": gpus})
    return PASS


def vllm_parallel(run: RunConfig) -> Outcome:
    """Parallel sizes of vLLM that go together."""
    if run.value("rollout_engine") != "vllm":
        return open_question(run, "rollout_engine") or NOT_APPLICABLE
    tensor, expert = "rollout_tensor_parallel", "rollout_expert_parallel"
    stops = "NeMo-RL stops at start-up."
    return first_clash(
        run,
        [
            (
                ("rollout_pipeline_parallel", "async_engine"),
                lambda size, on: _above(size, 1) and on is not True,
                "async_engine",
                f"{{rollout_pipeline_parallel.key}}={{rollout_pipeline_parallel}} needs {{async_engine.key}}; {stops}",
                "Set {async_engine.key}=true.",
                {"async_engine": True},
            ),
            (
                (expert, tensor),
                lambda size, width: _above(size, 1) and bool(whole(width)) and bool(whole(size)) and size % width != 0,
                expert,
                f"{{{expert}.key}}={{{expert}}} is no multiple of {{{tensor}.key}}={{{tensor}}}; {stops}",
                f"Set {{{expert}.key}} to a multiple of {{{tensor}.key}}.",
                {},
            ),
            (
                (expert, tensor, "async_engine"),
                lambda size, width, on: _above(size, 1) and size != width and on is True,
                expert,
                f"{{{expert}.key}}={{{expert}}} above {{{tensor}.key}}={{{tensor}}} uses data parallelism inside vLLM, "
                f"which {{async_engine.key}} does not allow; {stops}",
                f"Set {{{expert}.key}} to {{{tensor}}}, or {{async_engine.key}}=false.",
                {},
            ),
        ],
    )


def fp8_cache(run: RunConfig) -> Outcome:
    """A KV cache in FP8 is tied to FP8 weights, Megatron without pipeline, and the synchronous engine."""
    kind = run.value("kv_cache_dtype")
    if not isinstance(kind, str):
        return open_question(run, "kv_cache_dtype") or NOT_APPLICABLE
    if not kind.startswith("fp8"):
        return NOT_APPLICABLE
    name, stops = "{kv_cache_dtype.key}={kv_cache_dtype}", "NeMo-RL stops at start-up."
    return first_clash(
        run,
        [
            (
                ("rollout_dtype",),
                lambda value: value != "fp8",
                "rollout_dtype",
                f"{name} needs {{rollout_dtype.key}}=fp8; {stops}",
                "Set {rollout_dtype.key}=fp8.",
                {"rollout_dtype": "fp8"},
            ),
            (
                ("dtensor_backend",),
                lambda value: value is True,
                "dtensor_backend",
                f"{name} needs the Megatron back end; {stops}",
                "Train with Megatron, or set {kv_cache_dtype.key}=auto.",
                {"kv_cache_dtype": "auto"},
            ),
            (
                ("async_engine",),
                lambda value: value is True,
                "async_engine",
                f"{name} does not go with {{async_engine.key}}; {stops}",
                "Set {async_engine.key}=false.",
                {"async_engine": False},
            ),
            (
                ("pipeline_parallel",),
                lambda value: _above(value, 1),
                "pipeline_parallel",
                f"{name} needs {{pipeline_parallel.key}}=1; {stops}",
                "Set {pipeline_parallel.key}=1.",
                {"pipeline_parallel": 1},
            ),
        ],
    )


def adapters(run: RunConfig) -> Outcome:
    """LoRA with DTensor: the second worker only, and no Triton kernels under tensor parallelism."""
    if run.value("sharding_backend") != "fsdp2" or "lora_enabled" not in run.settings:
        return NOT_APPLICABLE
    if run.value("lora_enabled") is not True:
        return open_question(run, "lora_enabled") or NOT_APPLICABLE
    return first_clash(
        run,
        [
            (
                ("dtensor_v2",),
                lambda value: value is not True,
                "dtensor_v2",
                "{lora_enabled.key} needs {dtensor_v2.key}=true: the first worker has no adapters; NeMo-RL stops at "
                "start-up.",
                "Set {dtensor_v2.key}=true.",
                {"dtensor_v2": True},
            ),
            (
                ("lora_triton", "tensor_parallel"),
                lambda on, size: on is True and _above(size, 1),
                "lora_triton",
                "{lora_triton.key} does not go with {tensor_parallel.key}={tensor_parallel}; NeMo-RL stops at "
                "start-up.",
                "Set {lora_triton.key}=false.",
                {"lora_triton": False},
            ),
        ],
    )


def _above(value: Any, bound: Any) -> bool:
    numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in (value, bound))
    return numbers and value > bound
