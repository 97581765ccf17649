"""validate_config: what is wrong with a launch script or config, before the GPUs are busy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from .. import limits
from ..configs.values import InputError
from ..roots import Roots
from .arguments import Arguments, ConfigText, Names, Versions, Word
from .tool import Answer, Tool


class ValidateConfig(Arguments):
    config: Annotated[ConfigText, Field(description="Script or config as text")] = ""
    path: Annotated[
        Names,
        Field(
            default_factory=list,
            description="Or as file; several, comma-separated, are one run",
            max_length=limits.MAX_TARGETS,
        ),
    ]
    framework: Annotated[Word, Field(description="verl, trl, ...; default: detect")] = ""
    versions: Annotated[
        Versions, Field(default_factory=dict, description='{"verl":"0.8.0"}', max_length=limits.MAX_VERSIONS)
    ]
    gpu: Annotated[Word, Field(description="e.g. H100")] = ""
    world_size: Annotated[int | None, Field(description="GPUs in the run", ge=1, le=limits.MAX_GPUS)] = None
    focus: Annotated[
        Literal["all", "nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge"],
        Field(description="Only this topic"),
    ] = "all"
    ruleset: Annotated[Literal["all", "seed"], Field(description="seed: rules D01-N17")] = "all"
    detail: Annotated[Literal["brief", "normal", "full"], Field(description="How much")] = "brief"
    limit: Annotated[int, Field(description="Rows per list", ge=1, le=limits.MAX_ROWS)] = 10


BRIEF_CHARS = 3_200
_NAMES_CHARS = 200  # for the names of findings that have no room


def run(asked: ValidateConfig, roots: Roots) -> Answer:
    """Read what was asked for, check it, and answer. Raises InputError."""
    # Imported with the first call, so that a client sees the tool list without waiting for the domain.
    from ..model import to_dict
    from ..validate import validate_targets, validate_text

    options: dict[str, Any] = {
        "framework": asked.framework,
        "versions": asked.versions,
        "gpu": asked.gpu,
        "world_size": asked.world_size,
        "focus": asked.focus,
        "ruleset": asked.ruleset,
    }
    if bool(asked.config.strip()) == bool(asked.path):
        raise InputError(f"give either `config` (text) or `path` (a file inside {roots})")
    if asked.path:
        targets = list(dict.fromkeys(roots.find(name) for name in asked.path))
        report = validate_targets([_short(target.path) for target in targets], root=targets[0].root, **options)
    else:
        report = validate_text(asked.config, **options)
    data = to_dict(report, detail=asked.detail, limit=asked.limit)
    if asked.detail == "brief":
        _fit(data)
    return Answer(data, summarize(data))


def _fit(data: dict[str, Any]) -> None:
    """Cut a brief answer to its size; a finding that has no room is still named, with its line."""
    from ..lookup.short import fit, size

    room = BRIEF_CHARS + size(data.get("seed_rules", []))  # 36 rows were asked for
    findings = data["findings"]
    if size(data) > room:
        fit(data, ["findings", "unknown_keys", "undecided"], room - _NAMES_CHARS, "detail=normal shows them")
    cut = [_name_of(finding) for finding in findings[len(data["findings"]) :]]
    fitting = [name for number, name in enumerate(cut) if len("; ".join(cut[: number + 1])) <= _NAMES_CHARS]
    if fitting:
        data["notes"].append("also found: " + "; ".join(fitting))


def _name_of(finding: dict[str, Any]) -> str:
    line = (finding.get("setting") or {}).get("line")
    return f"{finding['severity']} {finding['rule']}" + (f" (line {line})" if line else "")


def _short(path: Path) -> Path:
    """As the caller would write it: each finding repeats the name."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def summarize(data: dict[str, Any]) -> str:
    """The report in a few lines, for clients that hand only text to their model."""
    counts = data["summary"]
    told = ", ".join(f"{counts.get(level, 0)} {level}" for level in ("error", "warning", "info"))
    lines = [f"{data['framework'] or 'unknown framework'}: {told}"]
    lines += [_finding_line(finding) for finding in data["findings"]]
    lines += [_batch_line(data["batch"])] if data.get("batch") else []
    lines += [_unknown_key_line(row) for row in data.get("unknown_keys", ())]
    lines += [f"undecided {row['rule']}: needs {', '.join(row['needs'])}" for row in data.get("undecided", ())]
    lines += [f"{row['id']} {row['status']}: {row['note']}" for row in data.get("seed_rules", ())]
    lines += [f"note: {note}" for note in data.get("notes", ())]
    return "\n".join(lines)


def _finding_line(finding: dict[str, Any]) -> str:
    setting, message = finding.get("setting") or {}, finding["message"]
    words = [finding["severity"], finding["rule"]]
    words += [f"{setting['file']}:{setting['line']}"] if setting.get("file") else []
    words += [setting["key"]] if setting.get("key") and setting["key"] not in message else []
    fix = f" Fix: {finding['fix']['text']}" if finding.get("fix") else ""
    return f"{' '.join(words)}: {message}{fix}"


def _batch_line(batch: dict[str, Any]) -> str:
    sizes = (f"{name.replace('_', ' ')} {size}" for name, size in batch.items() if isinstance(size, int | float | str))
    return f"batch: {', '.join(sizes)}"


def _unknown_key_line(row: dict[str, Any]) -> str:
    near = f"; did you mean {', '.join(row['did_you_mean'])}?" if row["did_you_mean"] else ""
    note = f": {row['note']}" if row["note"] else ""
    return f"unknown key {row['file']}:{row['line']} {row['key']}{note}{near}"


TOOL = Tool(
    name="validate_config",
    title="Validate a GRPO config",
    description="Find faults in an RL post-training launch script or config before launch: file, line, key, fix.",
    arguments=ValidateConfig,
    run=run,
    answers={
        "framework": "string",
        "sources": "array",
        "versions": "object",
        "summary": "object",
        "findings": "array",
        "unknown_keys": "array",
        "batch": "object",
        "undecided": "array",
        "seed_rules": "array",
        "notes": "array",
    },
)
