"""EasyR1 (no package on the index, read from a git clone): the nested dataclasses below PPOConfig.

Runs name a file (config=examples/config.yaml) whose values lie above the dataclass defaults; it is a table of its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from .history import Snapshot
from .source import Field, class_fields, classes
from .yaml_tables import flat, load

PACKAGE = "easyr1"
REPOSITORY = "https://github.com/hiyouga/EasyR1"
# Version (as verl/__init__.py of that tree says) and the revision read; the last one is the main branch of 2026-07-30
REVISIONS = {
    "0.3.0": "v0.3.0",
    "0.3.1": "v0.3.1",
    "0.3.2": "v0.3.2",
    "0.3.3.dev0": "b44b311b669bf1fd1aa2fc36f2251482ba33cb16",
}
WANTED = re.compile(r"verl/(?:trainer|workers(?:/[a-z]+)?)/config\.py|examples/config\.yaml")
STRICT = True  # OmegaConf.structured refuses unknown keys
BASE = ""
OPEN: dict[str, list[str]] = {}
FILES = ("trainer", "workers", "workers/actor", "workers/critic", "workers/reward", "workers/rollout")


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    known = classes([folder / "verl" / name / "config.py" for name in FILES])
    fields: dict[str, Field] = {}
    _add("", "PPOConfig", known, fields)
    snapshot.add("PPOConfig", fields)
    snapshot.tables["examples_config"] = flat(load(folder / "examples" / "config.yaml"))
    return snapshot


def _add(prefix: str, name: str, known: Mapping[str, ast.ClassDef], fields: dict[str, Field]) -> None:
    for key, field in class_fields(name, known).items():
        nested = next((other for other in field.classes if other in known), None)
        if nested:
            _add(f"{prefix}{key}.", nested, known, fields)
        else:
            fields[prefix + key] = field
