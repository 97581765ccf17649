"""Launchable configs for one card: written for a model, estimated, validated, and kept only when both say yes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..memory import changes, fit, phases, terms
from ..memory.cards import Card
from ..memory.estimate import plan_for
from ..memory.plan import Plan
from ..memory.shapes import Shape, known_shape

VERSIONS = {"verl": {"verl": "0.9.1", "torch": "2.11.0", "vllm": "0.24.0"}, "trl": {"trl": "1.16.0", "vllm": "0.31.0"}}
# The hub names of models that people start from, the smallest first
LADDER = (
    "Qwen/Qwen2.5-0.5B-Instruct",
    "Qwen/Qwen2.5-1.5B-Instruct",
    "Qwen/Qwen2.5-3B-Instruct",
    "Qwen/Qwen3-4B-Instruct-2507",
    "Qwen/Qwen2.5-7B-Instruct",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen2.5-14B-Instruct",
    "Qwen/Qwen2.5-32B-Instruct",
)
_SHARES = tuple(round(0.85 - 0.05 * step, 2) for step in range(15))  # 0.85 to 0.15
_SPARE_GIB = 1.0  # beside the error of the estimate


@dataclass(frozen=True, slots=True)
class Launch:
    """A config as text with what our own tools say of it. `why` tells why none could be written."""

    framework: str
    model: str
    variant: str
    text: str
    plan: Plan
    why: str = ""

    @property
    def fits(self) -> bool:
        return not self.why


def launches(framework: str, card: Card) -> Iterator[Launch]:
    """One launch per model of the ladder, the largest last; the first variant that fits, else the plain one."""
    for model in LADDER:
        tried = [_best(framework, model, variant, card) for variant in _VARIANTS[framework]]
        yield next((launch for launch in tried if launch.fits), tried[0])


def _best(framework: str, model: str, variant: str, card: Card) -> Launch:
    """The launch with the smallest engine share that holds all answers of a step, else with the largest that fits.

    Shares that leave less room than the estimate's error are taken only when no other fits.
    """
    write = _WRITERS[framework]
    plan, _ = plan_for(config=write(model, variant, 0.5), model=model, gpu=card.id, framework=framework)
    fitting = [share for share in _SHARES if fit.fits(changes.with_share(plan, share))]
    fitting = [share for share in fitting if _margin(changes.with_share(plan, share)) >= _SPARE_GIB] or fitting
    if not fitting:
        return Launch(framework, model, variant, "", plan, _why(changes.with_share(plan, _least(plan))))
    enough = [share for share in fitting if _answers(changes.with_share(plan, share)) >= plan.rollout.sequences]
    share = min(enough) if enough else max(fitting)
    return Launch(framework, model, variant, write(model, variant, share), changes.with_share(plan, share))


def _least(plan: Plan) -> float:
    """The smallest share in which the engine starts, so that the reason told is not the share."""
    return min((share for share in _SHARES if _answers(changes.with_share(plan, share)) >= 1), default=_SHARES[0])


def _answers(plan: Plan) -> float:
    """Full-length answers that the engine's cache holds at once."""
    return terms.kv_pool(plan) / terms.kv_bytes_per_token(plan) / plan.rollout.sequence


def _margin(plan: Plan) -> float:
    """GiB that are left at the peak when the estimate is as wrong as it may be."""
    return min(plan.card.visible_gib - phase.gib - phase.error_gib for phase in phases.phases(plan))


def _why(plan: Plan) -> str:
    worst = max((phase for phase in phases.phases(plan) if fit.problem(phase, plan.card)), key=lambda phase: phase.gib)
    return f"{worst.name}: {fit.problem(worst, plan.card)}"


def shape_of(model: str) -> Shape:
    """The shape of a model of the ladder."""
    shape = known_shape(model)
    assert shape is not None, model
    return shape


# verl -----------------------------------------------------------------------------------------------------------------


def _verl(model: str, variant: str, share: float) -> str:
    """GRPO with LoRA on vLLM, V1 trainer."""
    offload = (
        ["actor_rollout_ref.actor.fsdp_config.offload_policy=True"]
        if variant == "offload policy"
        else [
            "actor_rollout_ref.actor.fsdp_config.param_offload=True",
            "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True",
        ]
    )
    settings = [
        "algorithm.adv_estimator=grpo",
        "data.train_files=data/train.parquet data.val_files=data/test.parquet",
        "data.train_batch_size=16 data.max_prompt_length=512 data.max_response_length=1024",
        "data.filter_overlong_prompts=True data.truncation=error",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.model.lora_alpha=32",
        "actor_rollout_ref.model.enable_gradient_checkpointing=True",
        "actor_rollout_ref.actor.strategy=fsdp2",
        "actor_rollout_ref.actor.fsdp_config.model_dtype=bfloat16",
        *offload,
        "actor_rollout_ref.actor.optim.lr=1e-5",
        "actor_rollout_ref.actor.ppo_mini_batch_size=16",
        "actor_rollout_ref.actor.use_dynamic_bsz=True",
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=3072",
        "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.kl_loss_coef=0.001",
        "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8",
        "actor_rollout_ref.rollout.tensor_model_parallel_size=1",
        f"actor_rollout_ref.rollout.gpu_memory_utilization={share:g}",
        "actor_rollout_ref.rollout.load_format=safetensors",
        "actor_rollout_ref.rollout.layered_summon=True",
        "actor_rollout_ref.rollout.max_model_len=1536",
        "trainer.n_gpus_per_node=1 trainer.nnodes=1 trainer.save_freq=20 trainer.test_freq=10",
        "trainer.total_epochs=1 trainer.logger='[\"console\"]'",
        "trainer.project_name=grpo_one_card trainer.experiment_name=lora",
    ]
    return " \\\n  ".join(["python3 -m verl.trainer.main_ppo", *settings]) + "\n"


# TRL ------------------------------------------------------------------------------------------------------------------


def _trl(model: str, variant: str, share: float) -> str:
    """`trl grpo --config FILE`: LoRA, vLLM in the trainer's process, asleep while it trains."""
    micro, steps = (1, 64) if variant == "one sequence" else (2, 32)
    return f"""model_name_or_path: {model}
dtype: bfloat16
dataset_name: trl-lib/DeepMath-103K
reward_funcs: [accuracy_reward]
use_peft: true
lora_r: 32
lora_alpha: 32
lora_target_modules: all-linear
learning_rate: 1.0e-5
num_generations: 8
per_device_train_batch_size: {micro}
gradient_accumulation_steps: {steps}
gradient_checkpointing: true
max_completion_length: 1024
bf16: true
beta: 0.0
use_vllm: true
vllm_mode: colocate
vllm_enable_sleep_mode: true
vllm_gpu_memory_utilization: {share:g}
vllm_max_model_length: 1536
output_dir: outputs/grpo_one_card
logging_steps: 1
"""


_WRITERS = {"verl": _verl, "trl": _trl}
_VARIANTS = {"verl": ("", "offload policy"), "trl": ("", "one sequence")}


def judged(launch: Launch) -> dict[str, Any]:
    """Our validation of a launch: counts of errors and warnings, and what they are."""
    from ..validate import validate_text

    versions, title = VERSIONS[launch.framework], launch.plan.card.title
    report = validate_text(launch.text, framework=launch.framework, versions=versions, gpu=title, world_size=1)
    found = [finding for finding in report.findings if finding.severity in ("error", "warning")]
    return {
        "error": report.summary["error"],
        "warning": report.summary["warning"],
        "rules": [finding.rule for finding in found],
    }
