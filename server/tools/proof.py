"""proof: a statement, its derivation, and a numeric check that runs with the call."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..roots import Roots
from .arguments import Arguments, Detail, Query
from .tool import Answer, Tool


class Proof(Arguments):
    id: Annotated[Query, Field(description="Topic, rule, bug; none: list")] = ""
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: Proof, _: Roots) -> Answer:
    """Look it up and run its check. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..proofs.answer import proof
    from ..render.lookups import TEXTS

    data = proof(asked.id, detail=asked.detail)
    return Answer(data, TEXTS["proof"](data))


TOOL = Tool(
    name="proof",
    title="Proof",
    description="Derivation behind a claim; its check runs now.",
    arguments=Proof,
    run=run,
    answers={
        "check": "object",
        "proofs": "array",
    },
)
