"""matrix: patterns of failure by framework, in several views."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..roots import Roots
from .arguments import Arguments, Detail, Word
from .tool import Answer, Tool


class Matrix(Arguments):
    view: Annotated[
        Literal["default", "streams", "fsdp", "cross", "frameworks", "moe", "versions"],
        Field(description="cross: around one bug"),
    ] = "default"
    bug: Annotated[Word, Field(description="For cross, e.g. verl-6782")] = ""
    framework: Annotated[Word, Field(description="For versions")] = ""
    compare: Annotated[bool, Field(description="Bug by bug, or against the seeds")] = False
    detail: Annotated[Detail, Field(description="How much")] = "brief"


def run(asked: Matrix, _: Roots) -> Answer:
    """Look it up. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..lookup.matrix import matrix
    from ..render.lookups import TEXTS

    data = matrix(asked.view, asked.bug, asked.compare, detail=asked.detail, framework=asked.framework)
    return Answer(data, TEXTS["matrix"](data))


TOOL = Tool(
    name="matrix",
    title="Bug matrix",
    description="Known bugs by pattern and framework; side-by-side views, tested versions.",
    arguments=Matrix,
    run=run,
    looks_up=True,
    answers={
        "patterns": "array",
        "frameworks": "array",
        "cells": "array",
        "rows": "array",
        "notes": "array",
    },
)
