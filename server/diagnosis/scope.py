"""Whether a known bug can be this run's: a bug of a framework that the run does not use is not its cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import index
from .evidence import Evidence


def concerns(bug: Mapping[str, Any], evidence: Evidence) -> bool:
    """True unless the run is known to be of another framework than the bug.

    A trainer's bug concerns the runs of that trainer, and of those named in the entry, which carry the same defect. A
    bug of an engine, a back end or a library below concerns every run, save one that is known to use another one.
    """
    run = _names(evidence.framework)
    package = bug["package"]
    if not run or run & {package, *bug.get("frameworks", ())}:
        return True
    kinds = index.data()["kinds"]
    if package in kinds["trainers"]:
        return not run & {*kinds["trainers"]}
    return not any(package in kinds[kind] and run & {*kinds[kind]} for kind in ("engines", "backends"))


def _names(framework: str) -> set[str]:
    name = framework.strip().lower().replace("_", "-").replace(" ", "-")
    return {index.data()["kinds"]["spellings"].get(name, name)} - {""}
