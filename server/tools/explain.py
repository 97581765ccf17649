"""explain: what stands behind a rule, a bug, a pattern or a row of the seeds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..roots import Roots
from .arguments import Arguments, Detail, Word
from .tool import Answer, Tool


class Explain(Arguments):
    id: Annotated[Word, Field(description="Rule, bug, pattern, symptom, D01-N17; none: the 36 rules")] = ""
    view: Annotated[Literal["", "theory", "bug", "decision", "cross"], Field(description="cross: other frameworks")] = (
        ""
    )
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: Explain, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..lookup.explain import explain
    from ..render.lookups import TEXTS

    data = explain(asked.id, asked.view, detail=asked.detail)
    return Answer(data, TEXTS["explain"](data))


TOOL = Tool(
    name="explain",
    title="Why",
    description="What stands behind a rule, bug or pattern, link by link, with sources.",
    arguments=Explain,
    run=run,
    looks_up=True,
    answers={
        "chain": "array",
        "notes": "array",
    },
)
