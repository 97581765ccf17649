"""topic=nan, streams, knowledge: which known hazards one card adds, meets or cannot meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lookup import entries
from ..memory.cards import Card
from ..store import lookup as store
from ..store import memory as data
from .sections import Report, Section
from .single import bug_line, meets, ruled_out, split

_SHOWN = 8


def nan(card: Card) -> Report:
    """NaN hazards that a small card adds, those that any card has, and those that it cannot have."""
    found = Report(references=["https://developer.nvidia.com/cuda-gpus"])
    found.sections = [_precision(card), _added(card), _nan_rules(card), _nan_bugs(card)]
    return found


def _precision(card: Card) -> Section:
    entry = data.gpus()[card.id]
    section = Section("What the card itself decides")
    capability = entry.get("compute_capability")
    if capability and float(capability) >= 8.0:
        section.lines.append(
            f"Compute capability {capability}: bf16 in hardware, so no run needs fp16 and its range of 65504."
        )
    elif card.vendor == "huawei":
        section.lines.append("bf16 works; compute capability is a word of the other vendor.")
    else:
        section.lines.append("No bf16 in hardware: fp16 needs a loss scale, and overflow is a real cause of NaN.")
    if entry.get("fp8"):
        section.lines.append("FP8 in hardware; nothing in a GRPO run switches it on by itself.")
    section.lines.append(
        "A card's size causes no NaN. What a small card adds are the settings that people choose to fit it."
    )
    return section


def _added(card: Card) -> Section:
    """Bugs of the settings that save memory."""
    words = ("offload", "sleep", "4-bit", "quantiz", "cpu adam", "checkpointing", "nvme")
    bugs = [
        bug
        for bug in store.bugs().values()
        if _shows_nan(bug) and any(word in f"{bug['title']} {bug.get('trigger_text', '')}".lower() for word in words)
    ]
    met, _ = split(bugs, card)
    section = Section(f"NaN or garbage through settings that save memory: {len(met)} known bugs")
    section.lines = [bug_line(bug) for bug in met[:_SHOWN]]
    return section


def _shows_nan(bug: Mapping[str, Any]) -> bool:
    return bool({"nan_loss", "nan_grad_norm", "moe_nan", "garbage_output"} & set(bug.get("symptoms", ())))


def _nan_rules(card: Card) -> Section:
    section = Section("Rules of validate on NaN that can fire on one card")
    for id, rule in entries.rules().items():
        if "nan" in rule.get("focus", ()) and meets(rule, card):
            section.lines.append(f"{id}: {rule['title']}")
    for id in ("N03", "N14", "N15", "N16", "N17"):
        row = entries.seed_rows()[id]
        section.lines.append(f"seeds' {id} '{row['title']}' [{row['answer']}]: {row['note']}")
    return section


def _nan_bugs(card: Card) -> Section:
    met, not_met = split([bug for bug in store.bugs().values() if _shows_nan(bug)], card)
    section = Section(
        f"Known bugs that end in NaN or garbage: one card can meet {len(met)} of {len(met) + len(not_met)}"
    )
    section.lines = [bug_line(bug) for bug in met[:_SHOWN]]
    section.lines += [f"not on one card: {id}, {reason}" for id, reason in not_met[:_SHOWN]]
    return section


def streams(card: Card) -> Report:
    """The members of the stream table by kind, each with what one card makes of it."""
    found = Report(references=["https://docs.pytorch.org/docs/stable/generated/torch.Tensor.record_stream.html"])
    for kind in store.table("streams").get("kinds", []):
        section = Section(f"{kind['kind']}: {kind['says']}")
        for id in kind["bugs"]:
            bug = store.bugs().get(id)
            if bug is None:
                continue
            reason = ruled_out(bug, card)
            section.lines.append(f"{id}: cannot happen; {reason}" if reason else f"can happen; {bug_line(bug)}")
        section.lines.append(f"cure: {kind['cure']} Not cured by: {kind['not_cured_by']}")
        found.sections.append(section)
    elsewhere = store.table("streams").get("elsewhere", {})
    found.sections.append(Section("Listed as stream bugs by the seeds, and something else", [
        f"{id}: {text}" for id, text in elsewhere.items()
    ]))  # fmt: skip
    return found


def knowledge(card: Card) -> Report:
    """The seeds' 36 decisions and what is left of them on one card."""
    found = Report(references=["notebook://projects/rtx4090-grpo-training-runbook"])
    titles = {
        "right": "Hold",
        "conditional": "Hold under conditions",
        "outdated": "Held once, for older versions",
        "wrong": "Do not hold",
    }
    for answer, title in titles.items():
        rows = [row for row in entries.seed_rows().values() if row["answer"] == answer]
        section = Section(f"{title} ({len(rows)})")
        section.lines = [_decision(row, card) for row in rows]
        found.sections.append(section)
    return found


def _decision(row: Mapping[str, Any], card: Card) -> str:
    known = entries.rules()
    live = [id for id in row["checks"] if id in known and meets(known[id], card)]
    dead = [id for id in row["checks"] if id in known and id not in live]
    told = f"; checked here by {', '.join(live)}" if live else ""
    off = f"; cannot fire on one card: {', '.join(dead)}" if dead else ""
    return f"{row['id']} {row['title']}: {row['note']}{told}{off}"
