"""Arguments of a tool call: from the client's JSON to a checked model, or one line that says what to change."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError, WithJsonSchema

from .. import limits
from ..configs.values import InputError


class Arguments(BaseModel):
    """Base of every tool's argument model; a name that the model does not have is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def parse(model: type[ArgumentsT], tool: str, raw: Mapping[str, Any]) -> ArgumentsT:
    """The checked arguments. `null` counts as not given: assistants send it for what they leave out.

    Raises InputError naming the first thing to change.
    """
    given = {name: value for name, value in raw.items() if value is not None}
    for name in given:
        if name not in model.model_fields:
            raise InputError(_unknown(name, tool, list(model.model_fields)))
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InputError(_explain(error)) from None


def _unknown(name: str, tool: str, valid: list[str]) -> str:
    near = difflib.get_close_matches(name, valid, n=1)
    hint = f" did you mean {near[0]}?" if near else ""
    return f"unknown argument {_short(name)}:{hint} {tool} takes {', '.join(valid)}"


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "arguments"
    if first["type"] in _TOO_LARGE:
        size, most = len(first["input"]), first["ctx"]["max_length"]
        return f"argument {name}: {size:,} {_TOO_LARGE[first['type']]}, at most {most:,}: {_remedy(most)}"
    message = first["msg"].removeprefix("Value error, ")
    return f"argument {name}: {_short(first['input'])}: {message[:1].lower()}{message[1:]}"


_TOO_LARGE = {"string_too_long": "characters", "too_long": "entries"}


def _remedy(most: int) -> str:
    return "save it to a file and pass its path" if most == limits.MAX_PASTED_CHARS else "shorten it"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _as_text(value: Any) -> Any:
    """A JSON config often arrives as the object itself; indented, so that its lines can be named."""
    return json.dumps(value, indent=2) if isinstance(value, dict | list) else value


def _as_names(value: Any) -> Any:
    return [part.strip() for part in re.split(r"[,\n]", value) if part.strip()] if isinstance(value, str) else value


def _as_versions(value: Any) -> Any:
    """`{"verl": "0.8.0"}`, the same as JSON text, or "verl=0.8.0, torch==2.8"; a number becomes its text."""
    if isinstance(value, str):
        value = _versions_from_text(value)
    if isinstance(value, dict):
        return {str(name).strip(): str(version).strip() for name, version in value.items()}
    return value


def _versions_from_text(text: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError('write versions as {"verl": "0.8.0"}') from None
    pairs = [part for part in re.split(r"[,;\s]+", text) if part]
    found = [re.fullmatch(r"([\w.\-]+)(?:==?|:)(\S+)", part) for part in pairs]
    if not all(found):
        raise ValueError('write versions as {"verl": "0.8.0"} or verl=0.8.0')
    return {match[1]: match[2] for match in found if match}


# The schemas shown are the plain ones; a list of names or a mapping of versions may come as text as well.
Word = Annotated[str, StringConstraints(max_length=limits.MAX_WORD_CHARS, strip_whitespace=True)]
Query = Annotated[str, StringConstraints(max_length=limits.MAX_QUERY_CHARS, strip_whitespace=True)]
Detail = Literal["brief", "normal", "full"]
Name = Annotated[str, StringConstraints(max_length=limits.MAX_PATH_CHARS)]
ConfigText = Annotated[str, StringConstraints(max_length=limits.MAX_PASTED_CHARS), BeforeValidator(_as_text)]
Names = Annotated[
    list[Name],
    BeforeValidator(_as_names),
    WithJsonSchema({"type": "string", "maxLength": limits.MAX_PATH_CHARS}),
]
Versions = Annotated[
    dict[str, Word],
    BeforeValidator(_as_versions),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
