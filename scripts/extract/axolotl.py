"""axolotl: the pydantic model of its YAML, nested models flattened ("trl.num_generations"), and the settings that its
own plugins add (table "plugins"). "requires" holds what a release asks for of other packages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from .history import Snapshot
from .requirements import requirements
from .source import Field, class_fields, classes, constants

PACKAGE = "axolotl"
SINCE = "0.7.0"
WANTED = re.compile(
    r"(?:src/)?axolotl/(?:utils/schemas/(?:internal/)?\w+|utils/config/models/input/v0_4_1/\w+"
    r"|integrations/\w+/args)\.py|axolotl-[^/]+\.dist-info/METADATA|requirements\.txt"
)
BASE = ""
OPEN: dict[str, list[str]] = {}
TABLE, PLUGINS, MODEL = "config", "plugins", "AxolotlInputConfig"
# Nested models that are read key by key; the others (datasets ...) are open dictionaries
NESTED = {"TRLConfig", "VllmConfig", "RayConfig", "EBFTConfig", "LoftQConfig", "PeftConfig"}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version, aliases={TABLE: {}})
    snapshot.tables["requires"] = requirements(folder, ("trl", "transformers", "accelerate", "deepspeed", "vllm"))
    home = next(path for path in (folder / "src" / "axolotl", folder / "axolotl") if path.is_dir())
    known = classes(sorted((home / "utils").rglob("*.py")))
    fields: dict[str, Field] = {}
    _add("", MODEL, known, fields, snapshot.aliases[TABLE])
    snapshot.add(TABLE, fields)
    if "RLType" in known:
        snapshot.choices[TABLE]["rl"] = sorted(set(constants(ast.Module([known["RLType"]], [])).values()))
    plugins: dict[str, Field] = {}
    for path in sorted((home / "integrations").glob("*/args.py")):
        own = classes([path])
        for name in own:
            plugins.update({key: _open(item, own) for key, item in class_fields(name, own).items()})
    snapshot.add(PLUGINS, plugins)
    return snapshot


def _add(
    prefix: str, name: str, known: Mapping[str, ast.ClassDef], fields: dict[str, Field], aliases: dict[str, str]
) -> None:
    for own, field in class_fields(name, known).items():
        key = prefix + (field.alias or own)
        if field.alias:
            aliases[prefix + own] = key
        nested = next((other for other in field.classes if other in NESTED and other in known), None)
        if nested:
            _add(f"{key}.", nested, known, fields, aliases)
        else:
            fields[key] = _open(field, known)


def _open(field: Field, known: Mapping[str, ast.ClassDef]) -> Field:
    """A model that is not read key by key, or Any, takes whatever lies below it."""
    models = {name for name, node in known.items() if not any("Enum" in ast.unparse(base) for base in node.bases)}
    return replace(field, type="dict") if models & set(field.classes) or "Any" in field.classes else field
