"""What a tool is: a name, words for the assistant, a model of its arguments, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..roots import Roots
from .arguments import Arguments, parse


@dataclass(frozen=True, slots=True)
class Answer:
    """`data` becomes the structured content, `text` what a client that reads text only shows; `picture` is a PNG."""

    data: dict[str, Any]
    text: str
    picture: bytes = b""


@dataclass(frozen=True, slots=True)
class Tool:
    """A read-only tool.

    answers: the top-level fields of its structured content and their JSON types. looks_up: its answer depends on the
    arguments and the installed knowledge alone (and, for the age of entries, on the day), so it can be kept.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Any, Roots], Answer]
    answers: Mapping[str, str]
    looks_up: bool = False

    def input_schema(self) -> dict[str, Any]:
        """The arguments' JSON schema without what an assistant does not need: titles, empty defaults, null."""
        schema = self.arguments.model_json_schema()
        properties = {name: _lean(entry) for name, entry in schema["properties"].items()}
        required = {"required": schema["required"]} if "required" in schema else {}
        return {"type": "object", "properties": properties, **required, "additionalProperties": False}

    def output_schema(self) -> dict[str, Any]:
        """The top level only: full schemas of all tools would cost more of a model's context than most answers."""
        return {"type": "object", "properties": {name: {"type": kind} for name, kind in self.answers.items()}}

    def call(self, raw: Mapping[str, Any], roots: Roots) -> Answer:
        """Check the arguments and answer. Raises InputError for anything that the caller can put right."""
        return self.run(parse(self.arguments, self.name, raw), roots)


def _lean(entry: dict[str, Any]) -> dict[str, Any]:
    """One argument's schema; `X or null` is written as X, and a default that says "nothing chosen" is left out."""
    for choice in entry.get("anyOf", ()):
        if choice.get("type") != "null":
            entry = {**choice, **entry}
    drop = {"title", "anyOf"} | ({"default"} if entry.get("default") in (None, "", "all", 0, False) else set())
    return {name: value for name, value in entry.items() if name not in drop}
