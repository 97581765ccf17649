"""verl: the composed Hydra configuration of each engine, shipped in the wheel as _generated_ppo_*_trainer.yaml.

Releases before 0.5.0 have no generated file; their ppo_trainer.yaml and ppo_megatron_trainer.yaml are complete.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .history import Snapshot
from .source import REQUIRED

PACKAGE = "verl"
SINCE = "0.2"
WANTED = re.compile(r"verl/trainer/config/(?:_generated_)?ppo_(?:[a-z]+_)?trainer\.yaml")
STRICT = True  # unknown keys stop the run
BASE = "ppo_trainer"
OPEN = {table: ["hydra"] for table in (BASE, "ppo_megatron_trainer", "ppo_veomni_trainer", "ppo_torchtitan_trainer")}


def read(version: str, folder: Path) -> Snapshot:
    import yaml

    snapshot = Snapshot(version)
    configs = folder / "verl" / "trainer" / "config"
    choices = yaml.safe_load((configs / "ppo_trainer.yaml").read_text(encoding="utf-8")).get("defaults", [])
    generated = sorted(configs.glob("_generated_ppo_*trainer.yaml"))
    for path in generated or sorted(configs.glob("ppo_*trainer.yaml")):
        keys: dict[str, Any] = {}
        _flatten(yaml.safe_load(path.read_text(encoding="utf-8")), "", keys)
        table = path.stem.removeprefix("_generated_")
        if {"model_engine": "dp"} in choices:  # the group that swaps the engine, chosen like a key
            keys["model_engine"] = "dp" if table == BASE else table.split("_")[1]
        snapshot.tables[table] = keys
    return snapshot


def _flatten(node: Any, prefix: str, keys: dict[str, Any]) -> None:
    if isinstance(node, dict) and node:
        for key, item in node.items():
            _flatten(item, f"{prefix}.{key}" if prefix else str(key), keys)
    elif prefix:
        keys[prefix] = REQUIRED if node == "???" else _number(node)


def _number(node: Any) -> Any:
    """Hydra reads 1e-6 as a number, YAML 1.1 as text; Hydra decides."""
    if isinstance(node, str) and re.fullmatch(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+", node):
        return float(node)
    return node
