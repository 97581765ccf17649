"""OpenRLHF: the options of openrlhf.cli.train_ppo_ray (argparse). Names are without dashes; dotted from 0.10.2 on."""

from __future__ import annotations

import re
from pathlib import Path

from .history import Snapshot
from .source import options, tree

PACKAGE = "openrlhf"
SINCE = "0.5.0"
WANTED = re.compile(r"openrlhf/cli/train_ppo_ray\.py")
STRICT = True  # argparse stops at an unknown option
ABBREVIATIONS = True  # and takes unique beginnings of option names
BASE = ""
OPEN: dict[str, list[str]] = {}
TABLE = "train_ppo_ray"


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version, aliases={TABLE: {}})
    for option in options(tree(folder / "openrlhf" / "cli" / "train_ppo_ray.py").body):
        key, *others = option.names
        snapshot.add(TABLE, {key: option.field})
        snapshot.aliases[TABLE].update(dict.fromkeys(others, key))
    return snapshot
