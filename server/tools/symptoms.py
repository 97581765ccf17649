"""symptoms: from what a user sees to ranked causes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .. import limits
from ..roots import Roots
from .arguments import Arguments, Detail, Query
from .tool import Answer, Tool


class Symptoms(Arguments):
    query: Annotated[Query, Field(description="What you see, in words or a log line; none: the map")] = ""
    limit: Annotated[int | None, Field(description="Rows", ge=1, le=limits.MAX_ROWS)] = None
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: Symptoms, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..lookup.symptoms import symptoms
    from ..render.lookups import TEXTS

    data = symptoms(asked.query, asked.limit, asked.detail)
    return Answer(data, TEXTS["symptoms"](data))


TOOL = Tool(
    name="symptoms",
    title="Symptom to cause",
    description="Ranked causes of what you see in a run (English, Chinese, misspelt), with fix and deciding question.",
    arguments=Symptoms,
    run=run,
    looks_up=True,
    answers={
        "symptoms": "array",
        "notes": "array",
    },
)
