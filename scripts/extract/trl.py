"""TRL: dataclasses of the trainers and scripts. Fields of transformers.TrainingArguments are in that package's file."""

from __future__ import annotations

import re
from pathlib import Path

from .history import Snapshot
from .source import Field, class_fields, classes

PACKAGE = "trl"
SINCE = "0.14.0"
WANTED = re.compile(
    r"trl/(?:trainer/(?:grpo|rloo|base|model)_config\.py|trainer/utils\.py"
    r"|scripts/(?:utils|grpo|rloo|vllm_serve)\.py|cli/accelerate_config\.py|scripts/utils\.py|cli\.py)"
)
STRICT = True  # unknown keys stop the run
BASE = ""
OPEN = {"cli": ["env"]}
# Table: class, the files that define it and its bases inside the wheel
TABLES = {
    "GRPOConfig": ("GRPOConfig", "trainer/grpo_config.py", "trainer/base_config.py"),
    "RLOOConfig": ("RLOOConfig", "trainer/rloo_config.py", "trainer/base_config.py", "trainer/utils.py"),
    "ModelConfig": ("ModelConfig", "trainer/model_config.py"),
    "ScriptArguments": ("ScriptArguments", "scripts/utils.py"),
    "GRPOScriptArguments": ("GRPOScriptArguments", "scripts/grpo.py", "scripts/utils.py"),
    "RLOOScriptArguments": ("RLOOScriptArguments", "scripts/rloo.py", "scripts/utils.py"),
    "DatasetMixtureConfig": ("DatasetMixtureConfig", "scripts/utils.py"),
    "DatasetConfig": ("DatasetConfig", "scripts/utils.py"),
    "vllm_serve": ("ScriptArguments", "scripts/vllm_serve.py"),
}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    for table, (name, *files) in TABLES.items():
        known = classes([folder / "trl" / file for file in files])
        if name in known:
            snapshot.add(table, class_fields(name, known))
    snapshot.add("cli", _cli(folder / "trl"))
    return snapshot


def _cli(package: Path) -> dict[str, Field]:
    """What `trl grpo` reads besides dataclasses: --config, its `env` block, and --accelerate_config once it exists."""
    fields = {"config": Field(None, "str"), "env": Field(None, "dict")}
    for path in (package / "cli" / "accelerate_config.py", package / "cli.py"):
        if path.is_file() and "--accelerate_config" in path.read_text(encoding="utf-8"):
            fields["accelerate_config"] = Field(None, "str")
    return fields
