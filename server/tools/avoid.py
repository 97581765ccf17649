"""avoid: a config fragment that keeps a run clear of known hazards."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..roots import Roots
from .arguments import Arguments, Detail, Versions, Word
from .tool import Answer, Tool


class Avoid(Arguments):
    focus: Annotated[
        Literal["all", "nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge"], Field(description="Hazard")
    ] = "all"
    framework: Annotated[Word, Field(description="e.g. verl")]
    versions: Annotated[Versions, Field(default_factory=dict, description='{"verl":"0.8.0"}')]
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: Avoid, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..avoid.avoid import avoid
    from ..render.lookups import TEXTS

    data = avoid(asked.focus, asked.framework, asked.versions, asked.detail)
    return Answer(data, TEXTS["avoid"](data))


TOOL = Tool(
    name="avoid",
    title="Avoid a hazard",
    description="Config lines in the framework's syntax that avoid a hazard, with reason and source.",
    arguments=Avoid,
    run=run,
    answers={
        "lines": "array",
        "fragment": "string",
        "notes": "array",
    },
    looks_up=True,
)
