"""verl: the composed Hydra configuration of each engine, shipped in the wheel as _generated_ppo_*_trainer.yaml.

Releases before 0.5.0 have no generated file; their ppo_trainer.yaml and ppo_megatron_trainer.yaml are complete.
"""

from __future__ import annotations

import re
from pathlib import Path

from .history import Snapshot
from .yaml_tables import flat, load

PACKAGE = "verl"
SINCE = "0.2"
WANTED = re.compile(r"verl/trainer/config/(?:_generated_)?ppo_(?:[a-z]+_)?trainer\.yaml")
STRICT = True  # unknown keys stop the run
BASE = "ppo_trainer"
OPEN = {table: ["hydra"] for table in (BASE, "ppo_megatron_trainer", "ppo_veomni_trainer", "ppo_torchtitan_trainer")}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    configs = folder / "verl" / "trainer" / "config"
    choices = load(configs / "ppo_trainer.yaml").get("defaults", [])
    generated = sorted(configs.glob("_generated_ppo_*trainer.yaml"))
    for path in generated or sorted(configs.glob("ppo_*trainer.yaml")):
        keys = flat(load(path))
        table = path.stem.removeprefix("_generated_")
        if {"model_engine": "dp"} in choices:  # the group that swaps the engine, chosen like a key
            keys["model_engine"] = "dp" if table == BASE else table.split("_")[1]
        snapshot.tables[table] = keys
    return snapshot
