"""Full JSON schemas of the answers, for schema://TOOL: the tool list names their top level only."""

from __future__ import annotations

from typing import Any

ANSWERS = {
    "validate_config": ("model", "Report"),
    "diagnose": ("diagnosis.model", "Diagnosis"),
    "symptoms": ("lookup.answers", "SymptomsAnswer"),
    "playbook": ("lookup.answers", "PlaybookAnswer"),
    "fixes": ("lookup.answers", "FixesAnswer"),
    "avoid": ("lookup.answers", "AvoidAnswer"),
    "matrix": ("lookup.answers", "MatrixAnswer"),
    "explain": ("lookup.answers", "ExplainAnswer"),
    "rtx4090": ("rtx4090.sections", "CardAnswer"),
    "estimate_memory": ("memory.answers", "MemoryAnswer"),
    "match_skill": ("lookup.answers", "SkillsAnswer"),
    "read_reference": ("lookup.answers", "NoteAnswer"),
}


def schema_of(tool: str) -> dict[str, Any]:
    """The schema of a tool's whole answer. Raises KeyError for a tool that has none.

    Short answers leave fields out, so none is required.
    """
    from importlib import import_module

    from pydantic import TypeAdapter

    module, name = ANSWERS[tool]
    answer = getattr(import_module(f"..{module}", __package__), name)
    schema: dict[str, Any] = TypeAdapter(answer).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_optional(schema)}


def _optional(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            name: _optional(part)
            for name, part in schema.items()
            if not (name == "required" and isinstance(part, list))
        }
    return [_optional(part) for part in schema] if isinstance(schema, list) else schema
