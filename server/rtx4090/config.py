"""topic=config: launchable configs that fit and validate, and why the seeds' recipe is none."""

from __future__ import annotations

from ..memory import fit, phases
from ..memory.cards import Card
from ..memory.estimate import plan_for
from ..memory.plan import Plan
from . import launches
from .sections import Report, Section

_SEED_MODEL = "Qwen/Qwen2.5-7B-Instruct"


def report(card: Card) -> Report:
    """For verl and TRL: the largest launch of each size that fits `card`, and the sizes that do not."""
    found = Report(references=[
        "https://github.com/verl-project/verl/blob/v0.9.0/docs/advance/ppo_lora.rst",
        "https://github.com/huggingface/trl/blob/v1.9.0/docs/source/grpo_trainer.md",
        "notebook://projects/rtx4090-grpo-training-runbook",
    ])  # fmt: skip
    for framework in ("verl", "trl"):
        found.sections.append(_of(framework, card, found))
    found.sections.append(_seed_recipe(card))
    return found


def _of(framework: str, card: Card, found: Report) -> Section:
    versions = ", ".join(f"{name} {version}" for name, version in launches.VERSIONS[framework].items())
    section = Section(f"{framework} on one {card.title} ({versions})")
    for launch in launches.launches(framework, card):
        name = launch.model.split("/")[-1]
        if not launch.fits:
            section.lines.append(f"{name}: does not fit; {launch.why}")
            continue
        verdict, top = launches.judged(launch), fit.peak(launch.plan)
        found.configs.append(_row(launch, verdict))
        found.memory.append(_memory_row(launch))
        variant = f", {launch.variant}" if launch.variant else ""
        section.lines.append(
            f"{name}: fits{variant}; peak {top.gib:.1f} GiB in {top.name}, share {launch.plan.rollout.utilization:g}; "
            f"validation: {verdict['error']} errors, {verdict['warning']} warnings"
        )
    return section


def _row(launch: launches.Launch, verdict: dict[str, object]) -> dict[str, object]:
    top = fit.peak(launch.plan)
    run = "shell script" if launch.framework == "verl" else "trl grpo --config FILE"
    return {"framework": launch.framework, "model": launch.model, "run": run, "text": launch.text,
            "peak_gib": round(top.gib, 2), "peak_phase": top.name, "validation": verdict}  # fmt: skip


def _memory_row(launch: launches.Launch) -> dict[str, object]:
    sizes = {phase.name: round(phase.gib, 1) for phase in phases.phases(launch.plan)}
    return {"framework": launch.framework, "model": launch.model.split("/")[-1], **sizes}


def _seed_recipe(card: Card) -> Section:
    """The seeds' config: verl with DeepSpeed ZeRO-2, CPU Adam, a 7B model with LoRA r = 32, SGLang."""
    section = Section("The seeds' recipe: verl + DeepSpeed ZeRO-2 + CPU Adam, 7B, LoRA r = 32, SGLang, '16.24 GiB'")
    section.lines += _not_launchable()
    settings = {"lora_rank": 32, "rollout_engine": "sglang", "model_dtype": "bfloat16", "use_dynamic_bsz": True,
                "max_token_len_per_gpu": 3072, "gpu_memory_utilization": 0.7}  # fmt: skip
    for text, more in (
        ("As near as verl comes to it (FSDP, bf16 base, adapters sent to SGLang)", {}),
        ("The same with verl's default fp32 weights", {"model_dtype": "float32"}),
        ("The same with parameters and optimizer offloaded", {"offload_param": True, "offload_optimizer": True}),
    ):
        plan, _ = plan_for(model=_SEED_MODEL, gpu=card.id, framework="verl", settings={**settings, **more})
        section.lines.append(f"{text}: {_failures(plan)}")
    section.lines.append(
        "16.24 GiB left out the engine's own copy of the weights, the logits and a real KV cache, and took the model "
        "for 7.0e9 parameters; it has 7.616e9."
    )
    return section


def _failures(plan: Plan) -> str:
    failing = [phase for phase in phases.phases(plan) if fit.problem(phase, plan.card)]
    if not failing:
        return f"fits, peak {fit.peak(plan).gib:.1f} GiB"
    told = ", ".join(f"{phase.name} {phase.gib:.1f}" for phase in failing)
    return f"does not fit {plan.card.visible_gib:.1f} GiB: {told} GiB"


def _not_launchable() -> list[str]:
    """What our own validation says of the recipe written as verl overrides."""
    from ..validate import validate_text

    recipe = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo trainer.n_gpus_per_node=1 trainer.nnodes=1 "
        f"actor_rollout_ref.model.path={_SEED_MODEL} actor_rollout_ref.rollout.name=sglang "
        "actor_rollout_ref.actor.deepspeed_config.zero_optimization.stage=2 "
        "actor_rollout_ref.actor.deepspeed_config.zero_optimization.offload_optimizer.device=cpu"
    )
    report = validate_text(recipe, versions={"verl": "0.9.1"})
    told = [finding.message.split(" Did you mean")[0] for finding in report.findings if finding.rule == "unknown-key"]
    return [
        "verl has no DeepSpeed engine (it has fsdp, fsdp2, megatron and others), so there is no ZeRO stage to set: "
        "it cannot be launched as written.",
        *told[:1],
    ]
