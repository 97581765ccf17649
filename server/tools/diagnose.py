"""diagnose: from what is seen of a run to the few causes that fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from .. import limits
from ..configs.values import InputError
from ..roots import Roots
from .arguments import Arguments, ConfigText, Detail, Name, Names, Versions, Word
from .tool import Answer, Tool

if TYPE_CHECKING:
    from ..model import Curve


class Diagnose(Arguments):
    symptoms: Annotated[str, Field(description="What you see, in words", max_length=limits.MAX_SYMPTOM_CHARS)] = ""
    log: Annotated[str, Field(description="Log text", max_length=limits.MAX_PASTED_CHARS)] = ""
    log_path: Annotated[Names, Field(default_factory=list, description="Or files", max_length=limits.MAX_TARGETS)]
    config: Annotated[ConfigText, Field(description="Any piece")] = ""
    config_path: Annotated[Name, Field(description="Or file")] = ""
    framework: Annotated[Word, Field(description="verl, trl, ...")] = ""
    versions: Annotated[
        Versions, Field(default_factory=dict, description="Of packages", max_length=limits.MAX_VERSIONS)
    ]
    focus: Annotated[
        Literal["all", "nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge"], Field(description="Topic")
    ] = "all"
    limit: Annotated[int | None, Field(description="Causes", ge=1, le=limits.MAX_ROWS)] = None
    detail: Annotated[Detail, Field(description="How much")] = "brief"
    plot: Annotated[bool, Field(description="Add a picture of the metrics")] = False


def run(asked: Diagnose, roots: Roots) -> Answer:
    """Read what was given, rank the causes, and answer. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..configs.files import read_text
    from ..diagnosis.diagnose import diagnose
    from ..diagnosis.short import to_data
    from ..render.diagnosis import text_of

    if asked.config.strip() and asked.config_path:
        raise InputError("give either `config` (text) or `config_path` (a file), not both")
    logs: list[Path | str] = [roots.find(name).path for name in asked.log_path]
    logs += [asked.log] if asked.log.strip() else []
    config = read_text(roots.find(asked.config_path).path) if asked.config_path else asked.config
    answer = diagnose(asked.symptoms, logs, config, asked.framework, asked.versions, asked.focus, asked.limit)
    data = {name: value for name, value in to_data(answer, asked.detail, asked.limit).items() if value is not None}
    picture, note = _plotted(answer.curves) if asked.plot else (b"", "")
    if note:
        data["notes"] = [*data.get("notes", ()), note]
    return Answer(data, text_of(data), picture)


def _plotted(curves: Sequence[Curve]) -> tuple[bytes, str]:
    """The picture, or why there is none: the answer is worth having without it."""
    from ..render.picture import picture

    try:
        return picture(curves), ""
    except InputError as error:
        return b"", str(error)


TOOL = Tool(
    name="diagnose",
    title="Diagnose a run",
    description="Ranked causes of a failed or odd run, with evidence, checks, fixes and known bugs.",
    arguments=Diagnose,
    run=run,
    answers={
        "signals": "array",
        "hypotheses": "array",
        "ask_next": "array",
        "not_a_fault": "string",
        "coverage": "object",
        "notes": "array",
    },
)
