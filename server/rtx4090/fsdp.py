"""topic=fsdp: offload and memory with FSDP on one card, and what to choose there."""

from __future__ import annotations

from ..memory import changes, fit
from ..memory.cards import Card
from ..memory.estimate import plan_for
from ..store import lookup as store
from .sections import Report, Section
from .single import bug_line, split

_WAYS: tuple[tuple[str, dict[str, object]], ...] = (
    ("all on the GPU", {}),
    ("offload between phases", {"offload_param": True, "offload_optimizer": True}),
    ("FSDP2 offload policy", {"offload_policy": True, "sharding_backend": "fsdp2"}),
)
_MODELS = ("Qwen2.5-1.5B-Instruct", "Qwen2.5-3B-Instruct", "Qwen3-4B", "Qwen2.5-7B-Instruct")


def report(card: Card) -> Report:
    found = Report(references=["https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html"])
    found.sections += [
        _memory(card, found, "LoRA r = 32, bf16 base", {"lora_rank": 32, "model_dtype": "bfloat16"}),
        _memory(card, found, "full training, fp32 weights (verl's default)", {}),
        _decisions(),
        _bugs(card),
    ]
    return found


def _memory(card: Card, found: Report, title: str, settings: dict[str, object]) -> Section:
    section = Section(f"verl on one {card.title}, {title}: GiB of the largest phase by way of offload")
    for model in _MODELS:
        told = []
        for way, more in _WAYS:
            chosen = {**settings, **more, "use_dynamic_bsz": True, "max_token_len_per_gpu": 3072}
            plan, _ = plan_for(model=model, gpu=card.id, framework="verl", settings=chosen)
            share = max(0.05, min(0.9, changes.least_share(plan)))
            plan = changes.with_share(plan, share)
            top = fit.peak(plan)
            found.memory.append({"model": model, "training": title, "way": way, "peak_gib": round(top.gib, 1),
                                 "peak_phase": top.name, "fits": fit.fits(plan)})  # fmt: skip
            told.append(f"{way} {top.gib:.1f} ({top.name}{'' if fit.fits(plan) else ', does not fit'})")
        section.lines.append(f"{model}: {'; '.join(told)}")
    section.lines.append("One rank shards nothing: FSDP saves memory there by offload alone.")
    return section


def _decisions() -> Section:
    section = Section("FSDP1 or FSDP2")
    for row in store.table("fsdp").get("decisions", []):
        if "Several ranks" not in row["when"]:
            section.lines.append(f"{row['when']}: {row['choose']} {row['why']}")
    return section


def _bugs(card: Card) -> Section:
    bugs = [
        bug
        for bug in store.bugs().values()
        if bug["package"] in ("pytorch", "verl", "accelerate")
        and "fsdp" in f"{bug['title']} {bug['mechanism']}".lower()
    ]
    met, not_met = split(bugs, card)
    section = Section(f"FSDP bugs that one card can meet ({len(met)}; {len(not_met)} cannot happen on it)")
    section.lines = [bug_line(bug) for bug in met[:8]]
    return section
