"""estimate_memory: GPU memory of a run, per phase, and the smallest changes that make it fit."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from .. import limits
from ..configs.values import InputError
from ..roots import Roots
from .arguments import Arguments, ConfigText, Detail, Names, Word, _as_text
from .tool import Answer, Tool

Model = Annotated[str, StringConstraints(max_length=limits.MAX_MODEL_CHARS), BeforeValidator(_as_text)]
Settings = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]


class EstimateMemory(Arguments):
    config: Annotated[ConfigText, Field(description="Script or config")] = ""
    path: Annotated[Names, Field(default_factory=list, description="Or its file", max_length=limits.MAX_TARGETS)]
    model: Annotated[Model, Field(description="Name or config.json")] = ""
    gpu: Annotated[Word, Field(description="e.g. 4090")] = ""
    settings: Annotated[Settings, Field(default_factory=dict, description="framework, lora_rank, ...", max_length=60)]
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: EstimateMemory, roots: Roots) -> Answer:
    """Read what was asked for and estimate. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..memory.estimate import estimate, shortened
    from ..render.memory import memory_text

    if asked.config.strip() and asked.path:
        raise InputError("give `config` (text) or `path` (a file), not both")
    targets = list(dict.fromkeys(roots.find(name) for name in asked.path))
    model = asked.model.strip()
    if model.endswith(".json"):
        model = _file(model, roots)
    data = estimate(
        config=asked.config,
        paths=[target.path for target in targets],
        root=targets[0].root if targets else None,
        model=model,
        gpu=asked.gpu,
        settings=asked.settings,
    )
    data = shortened(data, asked.detail)
    return Answer(data, memory_text(data))


def _file(name: str, roots: Roots) -> str:
    """The text of a config.json inside the roots."""
    from ..configs.files import read_text

    return read_text(roots.find(name).path)


TOOL = Tool(
    name="estimate_memory",
    title="GPU memory",
    description="GPU memory per phase, and the smallest changes that make a run fit.",
    arguments=EstimateMemory,
    run=run,
    answers={"phases": "array", "fits": "boolean"},
)
