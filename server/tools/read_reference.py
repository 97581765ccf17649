"""read_reference: notes, whole, by section, by search, or those of a framework."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .. import limits
from ..roots import Roots
from .arguments import Arguments, Query, Word
from .tool import Answer, Tool


class ReadReference(Arguments):
    name: Annotated[Word, Field(description="Default: list; auto-memory: index")] = ""
    section: Annotated[Word, Field(description="One section")] = ""
    search: Annotated[Query, Field(description="Words to find")] = ""
    framework: Annotated[Word, Field(description="Its notes")] = ""
    offset: Annotated[int, Field(description="Go on from here", ge=0, le=10_000_000)] = 0
    chars: Annotated[int | None, Field(description="Page size", ge=200, le=limits.MAX_PAGE_CHARS)] = None


def run(asked: ReadReference, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..lookup.notes import read_reference
    from ..render.lookups import TEXTS

    data = read_reference(asked.name, asked.section, asked.search, asked.framework, asked.offset, asked.chars, "brief")
    return Answer(data, TEXTS["read_reference"](data))


TOOL = Tool(
    name="read_reference",
    title="Read a note",
    description="Read or search the notes on verl, vLLM, DeepSpeed, Megatron, rLLM, Ascend, FSDP2.",
    arguments=ReadReference,
    run=run,
    looks_up=True,
    answers={
        "sections": "array",
        "text": "string",
        "truncated": "boolean",
        "next_offset": "integer",
        "found": "array",
    },
)
