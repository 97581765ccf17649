"""fixes: state, versions, fix and workaround of known bugs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .. import limits
from ..roots import Roots
from .arguments import Arguments, Detail, Word
from .tool import Answer, Tool


class Fixes(Arguments):
    bug: Annotated[Word, Field(description="e.g. verl-6782, verl#6782")] = ""
    pattern: Annotated[Word, Field(description="All bugs of one pattern")] = ""
    offset: Annotated[int, Field(description="Start", ge=0, le=100_000)] = 0
    limit: Annotated[int | None, Field(description="Rows", ge=1, le=limits.MAX_ROWS)] = None
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: Fixes, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..lookup.fixes import fixes
    from ..render.lookups import TEXTS

    data = fixes(asked.bug, asked.pattern, asked.offset, asked.limit, asked.detail)
    return Answer(data, TEXTS["fixes"](data))


TOOL = Tool(
    name="fixes",
    title="Known bugs and fixes",
    description="Status, versions, fix and workaround of a bug, a pattern, or all known bugs.",
    arguments=Fixes,
    run=run,
    looks_up=True,
    answers={
        "total": "integer",
        "fixes": "array",
        "next_offset": "integer",
        "notes": "array",
    },
)
