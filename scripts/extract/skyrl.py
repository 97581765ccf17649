"""SkyRL from 0.1.0 on (read from a git clone): the dataclasses below SkyRLTrainConfig, set by key=value."""

from __future__ import annotations

import re
from pathlib import Path

from .history import Snapshot
from .nested import nested_fields
from .source import classes, constants, tree

PACKAGE = "skyrl"
REPOSITORY = "https://github.com/NovaSky-AI/SkyRL"
REVISIONS = {"0.1.0": "skyrl-v0.1.0", "0.2.0": "skyrl-v0.2.0", "0.3.0": "skyrl-v0.3.0"}
WANTED = re.compile(r"skyrl/train/config/config\.py|skyrl-gym/skyrl_gym/envs/(?:search|sql)/env\.py")
STRICT = True  # unknown fields stop the run
BASE = ""
OPEN = {"SkyRLTrainConfig": ["environment.skyrl_gym"]}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    path = folder / "skyrl" / "train" / "config" / "config.py"
    gym = folder / "skyrl-gym" / "skyrl_gym" / "envs"
    known = classes([path, gym / "search" / "env.py", gym / "sql" / "env.py"])
    snapshot.add("SkyRLTrainConfig", nested_fields("SkyRLTrainConfig", known, "", constants(tree(path))))
    return snapshot
