"""skyrl-train, SkyRL's trainer up to 0.4.0 (read from a git clone): ppo_base_config.yaml with its groups, by Hydra."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .history import Snapshot
from .yaml_tables import flat, load

PACKAGE = "skyrl-train"
REPOSITORY = "https://github.com/NovaSky-AI/SkyRL"
REVISIONS = {f"0.{minor}.0": f"skyrl_train-v0.{minor}.0" for minor in (1, 2, 3, 4)}
WANTED = re.compile(r"skyrl-train/skyrl_train/config/(?:[a-z_]+/)?[a-z_]+\.yaml")
STRICT = True  # Hydra stops at a key that the config lacks
BASE = ""
TABLE = "ppo_base_config"
OPEN = {TABLE: ["hydra"]}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    home = folder / "skyrl-train" / "skyrl_train" / "config"
    content = load(home / f"{TABLE}.yaml")
    keys: dict[str, Any] = {}
    for item in content.pop("defaults", []):
        if isinstance(item, dict):
            ((target, option),) = item.items()
            group, _, package = target.partition("@")
            # a group without a package of its own starts with a header that places it, or stands at its name
            name = package or _header(home / group / f"{option}.yaml") or group.replace("/", ".")
            keys |= flat(load(home / group / f"{option}.yaml"), name)
    snapshot.tables[TABLE] = {**flat(content), **keys}
    return snapshot


def _header(path: Path) -> str:
    found = re.search(r"#\s*@package\s+(\S+)", path.read_text(encoding="utf-8"))
    return found[1] if found else ""
