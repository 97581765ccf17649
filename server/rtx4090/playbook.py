"""topic=playbook: procedures for one card: before the launch, NaN, memory, convergence, monitoring."""

from __future__ import annotations

from collections.abc import Iterable

from ..lookup import entries
from ..lookup.notes import read_reference
from ..lookup.playbook import playbook
from ..memory import fit, phases
from ..memory.cards import Card
from ..store import lookup as store
from . import launches
from .sections import Report, Section

_RUNBOOK = "projects/rtx4090-grpo-training-runbook"
_OOM = ("oom_start", "oom_wake_up", "oom_sync", "oom_logprob", "oom_update", "oom_growth")
# The seeds' two short lists, check by check, and the rows of theirs that answer each
_IF_NAN = (
    ("overlap_comm must be False", ("N03", "N15")),
    ("gradient_clipping must be 1.0", ("D02", "N16")),
    ("gating dtype must be FP32 (MoE)", ("D17", "N14")),
    ("LoRA rank must be 32", ("D08", "N05")),
)
_IF_PLATEAU = (
    ("the optimizer must not be Muon", ("N02", "N13")),
    ("clip_grad must not be 0.0", ("D02", "N16")),
    ("group_size must be 4 or more", ("D07", "N11")),
)


def report(card: Card) -> Report:
    found = Report(references=["notebook://projects/rtx4090-grpo-training-runbook"])
    found.sections = [
        _before(card),
        _steps("NaN", "nan_loss"),
        _seed_list("If NaN appears: the seeds' list, corrected", _IF_NAN),
        _memory(),
        _steps("Flat reward or loss", "loss_flat"),
        _seed_list("If there is a plateau: the seeds' list, corrected", _IF_PLATEAU),
        _monitoring(),
    ]
    return found


def _before(card: Card) -> Section:
    """What can be decided before a GPU is busy, with the sizes of the smallest launch that fits."""
    section = Section(f"Before the launch, on one {card.title} ({card.visible_gib:.1f} GiB to be used)")
    launch = next((item for item in launches.launches("verl", card) if item.fits), None)
    if launch is not None:
        largest = [item for framework in ("verl", "trl") for item in launches.launches(framework, card) if item.fits]
        named = max(largest, key=lambda item: launches.shape_of(item.model).parameters())
        host = sum(size for _, size, _ in phases.host_gib(named.plan))
        section.lines += [
            f"Choose the size: the largest launch that fits is {named.model} with {named.framework} "
            f"({fit.peak(named.plan).gib:.1f} GiB); topic=config has it as text.",
            f"Host memory: about {host:.0f} GiB for that launch, besides data and the system.",
        ]
    section.lines += [
        "Estimate your own config: grpo-guard memory SCRIPT --gpu " + card.id,
        "Validate it with your versions: grpo-guard validate SCRIPT --version verl=X.Y.Z",
        *_list_items("Before the launch"),
    ]
    return section


def _list_items(title: str) -> Iterable[str]:
    """The numbered lines of a section of the runbook."""
    text = read_reference(_RUNBOOK, title)["text"]
    item = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped[:1].isdigit() and ". " in stripped[:4]:
            if item:
                yield item
            item = stripped.split(". ", 1)[1]
        elif item and stripped:
            item = f"{item} {stripped}"
    if item:
        yield item


def _steps(title: str, symptom: str) -> Section:
    told = playbook(symptom)
    section = Section(f"{title}: {told['title']}")
    for step in told["steps"]:
        why = f" ({step['why']})" if step.get("why") else ""
        section.lines.append(f"{step['do']}{why}")
    return section


def _memory() -> Section:
    """By the phase that fails, which is the first thing to find out."""
    section = Section("Out of memory: name the phase first")
    for name in _OOM:
        entry = store.symptoms().get(name)
        if entry:
            section.lines.append(f"{entry['title']}: {entry['question']} {entry.get('fix', '')}".strip())
    section.lines.append(
        "grpo-guard memory SCRIPT names the phase that does not fit, and the smallest changes that make it fit."
    )
    return section


def _seed_list(title: str, checks: tuple[tuple[str, tuple[str, ...]], ...]) -> Section:
    rows = entries.seed_rows()
    section = Section(title)
    for says, ids in checks:
        answers = "; ".join(f"{id} [{rows[id]['answer']}] {rows[id]['note']}" for id in ids)
        section.lines.append(f"'{says}': {answers}")
    return section


def _monitoring() -> Section:
    """The table of healthy values from the runbook."""
    section = Section("Monitoring: healthy values")
    for line in read_reference(_RUNBOOK, "Health of a run")["text"].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) >= 2 and not set(cells[0]) <= {"-", " ", ":"} and cells[0] != "metric":
            section.lines.append(f"{cells[0]}: {cells[1]}")
    return section
