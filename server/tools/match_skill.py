"""match_skill: which skill the user's words mean."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..roots import Roots
from .arguments import Arguments, Query
from .tool import Answer, Tool


class MatchSkill(Arguments):
    query: Annotated[Query, Field(description="The user's words", min_length=1)]


def run(asked: MatchSkill, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..lookup.skills import match_skill
    from ..render.lookups import TEXTS

    data = match_skill(asked.query, "brief")
    return Answer(data, TEXTS["match_skill"](data))


TOOL = Tool(
    name="match_skill",
    title="Find the skill",
    description="Which skill fits the user's words, with its tools and notes.",
    arguments=MatchSkill,
    run=run,
    looks_up=True,
    answers={
        "skills": "array",
        "notes": "array",
    },
)
