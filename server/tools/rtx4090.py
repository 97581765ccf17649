"""rtx4090: the report of a topic for one card."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..roots import Roots
from .arguments import Arguments, Detail, Word
from .tool import Answer, Tool


class OneCard(Arguments):
    topic: Annotated[
        Literal["playbook", "nan", "muon", "streams", "knowledge", "config", "moe", "fsdp", "zero"] | None,
        Field(description="What"),
    ] = None
    gpu: Annotated[Word, Field(description="Or another")] = ""
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: OneCard, _: Roots) -> Answer:
    """Compute the report. Raises InputError for an unknown card."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..render.card import card_text
    from ..rtx4090.report import report

    data = report(asked.topic or "", asked.gpu, asked.detail)
    return Answer(data, card_text(data))


TOOL = Tool(
    name="rtx4090",
    title="One card",
    description="GRPO on one 24 GB card.",
    arguments=OneCard,
    run=run,
    looks_up=True,
    answers={"sections": "array"},
)
