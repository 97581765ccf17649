"""verl: the composed Hydra configuration of each engine, shipped in the wheel as _generated_ppo_*_trainer.yaml.

Releases before 0.5.0 have no generated file; their ppo_trainer.yaml and ppo_megatron_trainer.yaml are complete.
An engine without a generated file (MindSpeed) is composed here; that needs hydra-core and nothing of verl.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .history import Snapshot
from .yaml_tables import flat, load

PACKAGE = "verl"
SINCE = "0.2"
WANTED = re.compile(r"verl/trainer/config/(?:[a-z_]+/)?[a-z_]+\.yaml")
STRICT = True  # unknown keys stop the run
BASE = "ppo_trainer"
ENGINES = ("megatron", "veomni", "torchtitan", "mindspeed")
OPEN = {table: ["hydra"] for table in (BASE, *(f"ppo_{engine}_trainer" for engine in ENGINES))}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    configs = folder / "verl" / "trainer" / "config"
    generated = sorted(configs.glob("_generated_ppo_*trainer.yaml"))
    for path in generated or sorted(configs.glob("ppo_*trainer.yaml")):
        snapshot.tables[path.stem.removeprefix("_generated_")] = flat(load(path))
    engines = {path.stem for path in (configs / "model_engine").glob("*.yaml")} - {"dp"}
    for engine in sorted(engines):
        if f"ppo_{engine}_trainer" not in snapshot.tables:
            snapshot.tables[f"ppo_{engine}_trainer"] = flat(_composed(configs, engine))
    if engines:  # the group that swaps the engine is chosen like a key
        for table, keys in snapshot.tables.items():
            keys["model_engine"] = "dp" if table == BASE else table.split("_")[1]
    return snapshot


def _composed(configs: Path, engine: str) -> Any:
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(configs.resolve()), version_base=None):
        return OmegaConf.to_container(compose("ppo_trainer", overrides=[f"model_engine={engine}"]), resolve=False)
