"""playbook: what to do, step by step."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..roots import Roots
from .arguments import Arguments, Detail, Query
from .tool import Answer, Tool


class Playbook(Arguments):
    topic: Annotated[
        Query, Field(description="Pattern, symptom, framework, bug, or fsdp (FSDP1 or 2); none: all patterns")
    ] = ""
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: Playbook, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..lookup.playbook import playbook
    from ..render.lookups import TEXTS

    data = playbook(asked.topic, asked.detail)
    return Answer(data, TEXTS["playbook"](data))


TOOL = Tool(
    name="playbook",
    title="Debugging steps",
    description="What to do, step by step, with reason and command.",
    arguments=Playbook,
    run=run,
    looks_up=True,
    answers={
        "steps": "array",
        "patterns": "array",
        "bugs": "array",
        "notes": "array",
    },
)
