"""Which rules and bugs a run on one card can meet: their own conditions, evaluated with everything else unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..checks.expr import Unknown, evaluate, parse
from ..lookup import entries
from ..memory.cards import Card
from ..store import lookup as store

_ONE = (
    "world_size", "data_parallel_size", "n_gpus", "nnodes", "tensor_parallel", "pipeline_parallel", "context_parallel",
    "expert_parallel", "sequence_parallel", "rollout_tensor_parallel", "rollout_data_parallel",
    "rollout_pipeline_parallel", "rollout_expert_parallel",
)  # fmt: skip
# Titles that speak of several ranks; in the longer text only what says that one is not enough
_SEVERAL = re.compile(
    r"\b(several|all|other|some|different|uneven|between|across|whose|both|when|of) ranks\b"
    r"|\branks (disagree|differ|wait|hang|finish|use different|with)\b|\bmulti-?(node|gpu|rank)\b"
    r"|\b(tensor|pipeline|context|expert|sequence)[ -]parallel|\bUlysses\b|\bHSDP\b",
    re.IGNORECASE,
)
_AT_LEAST_TWO = re.compile(
    r"\b(two or more|more than one|at least two) (GPUs?|ranks?|nodes?|engines?)\b", re.IGNORECASE
)
_RANKS_NEEDED = ("collective_count_mismatch",)  # patterns that speak of ranks that disagree
_ASCEND = re.compile(r"\b(Ascend|NPU|CANN|A2|A3|A5)\b")
_ASCEND_PACKAGES = ("vllm-ascend", "mindie")


class OneCard:
    """A run of which only the card is known (protocol `expr.Scope`)."""

    def __init__(self, card: Card) -> None:
        self._known: dict[str, Any] = {**dict.fromkeys(_ONE, 1), "gpu": card.title}
        self._known["device"] = "npu" if card.vendor == "huawei" else "cuda"

    def field_value(self, name: str) -> Any:
        return self._known.get(name, Unknown(frozenset([name])))

    def env_value(self, name: str) -> Any:
        return Unknown(frozenset([f"env.{name}"]))

    def is_explicit(self, name: str) -> bool:
        return False

    def is_known(self, name: str) -> bool:
        return True  # a condition that asks for it goes on to the value, which is unknown


def ruled_out(bug: Mapping[str, Any], card: Card) -> str:
    """Why a run on one such card cannot meet a bug, "" when it can (or when nothing says that it cannot)."""
    text = " ".join(filter(None, (bug.get("trigger_text"), bug["title"])))
    ascend = bug["package"] in _ASCEND_PACKAGES or (_ASCEND.search(text) and "CUDA" not in text)
    if ascend and card.vendor != "huawei":
        return "another kind of accelerator"
    if bug.get("trigger") and evaluate(parse(bug["trigger"]), OneCard(card)) is False:
        return "its trigger is false on one card"
    if bug["pattern"] in _RANKS_NEEDED:
        return "it is about ranks that disagree"
    if match := _SEVERAL.search(bug["title"]) or _AT_LEAST_TWO.search(text):
        return f"it needs more than one GPU, by its description ({match[0]})"
    return ""


def meets(rule: Mapping[str, Any], card: Card) -> bool:
    """Whether a rule of the compiled index can find anything in a run on one such card."""
    scope = OneCard(card)
    forms = [rule, *({**rule, **own} for own in rule.get("per_framework", {}).values())]
    return any(_may_hold(form, scope) for form in forms)


def _may_hold(rule: Mapping[str, Any], scope: OneCard) -> bool:
    parts = (rule.get("applies_when"), rule.get("condition"))
    return not any(part is not None and evaluate(part, scope) is False for part in parts)


def split(bugs: Iterable[Mapping[str, Any]], card: Card) -> tuple[list[Mapping[str, Any]], list[tuple[str, str]]]:
    """(bugs that the card can meet, faults before limits and the most serious first; ids of the others with why)."""
    met, not_met = [], []
    for bug in sorted(entries.by_weight(bugs), key=lambda bug: bug.get("kind", "bug") != "bug"):
        if bug["verdict"] not in ("confirmed", "reported"):
            continue
        reason = ruled_out(bug, card)
        if reason:
            not_met.append((str(bug["id"]), reason))
        else:
            met.append(bug)
    return met, not_met


def bug_line(bug: Mapping[str, Any]) -> str:
    """One bug with its versions and the way around it."""
    fixed = ", ".join(f"{package} {version}" for package, version in bug.get("fixed_in", {}).items())
    state = f"fixed in {fixed}" if fixed else entries.status(bug)
    remedy = bug.get("workaround") or bug["fix"]
    return f"{bug['id']} [{state}]: {bug['title']}. Way around: {remedy}"


def patterns(*names: str) -> list[Mapping[str, Any]]:
    """All bugs of some patterns."""
    return [bug for bug in store.bugs().values() if bug["pattern"] in names]
