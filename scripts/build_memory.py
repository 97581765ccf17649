"""What the memory estimate loads (knowledge/memory.json): shapes of models and figures of cards."""

from __future__ import annotations

from typing import Any

from knowledge_files import KNOWLEDGE, checked

from grpo_guard.store import schema

_LEFT_OUT = ("last_verified",)


def build_memory() -> dict[str, Any]:
    """All models and cards by id. Raises SystemExit naming the file and its fault, or two files of one name."""
    kinds = {"models": schema.Model, "gpus": schema.Gpu}
    return {kind: entries(kind, model) for kind, model in kinds.items()}


def entries(kind: str, model: type[schema.Strict]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    owner: dict[str, str] = {}
    for path in sorted((KNOWLEDGE / kind).glob("*.yaml")):
        entry = checked(model, path)
        for name in {name.lower() for name in entry.get("names", ())}:
            if owner.setdefault(name, path.stem) != path.stem:
                raise SystemExit(f"{kind}: {owner[name]} and {path.stem} share the name {name}")
        found[entry["id"]] = {key: value for key, value in entry.items() if key not in _LEFT_OUT}
    return found
