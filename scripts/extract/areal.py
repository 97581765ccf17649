"""AReaL (read from a git clone): the dataclasses below GRPOConfig in areal/api/cli_args.py."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from .history import Snapshot
from .nested import nested_fields
from .source import REQUIRED, classes, constants, tree

PACKAGE = "areal"
REPOSITORY = "https://github.com/areal-project/AReaL"
REVISIONS = {
    version: f"v{version}"
    for version in (
        "0.3.1", "0.3.2", "0.3.3", "0.3.4", "0.4.0", "0.4.1", "0.5.0", "0.5.1", "0.5.2", "0.5.3", "1.0.0", "1.0.1",
        "1.0.2", "1.0.3", "1.0.4", "2.0.0",
    )
}  # fmt: skip
WANTED = re.compile(r"areal/(?:api/cli_args|utils/constants)\.py")
STRICT = True  # OmegaConf.structured refuses unknown keys
BASE = ""
TABLE = "GRPOConfig"
# Fields with a leading underscore are part of the configuration, too
OPEN = {TABLE: ["hydra", *(f"{section}._version" for section in ("rollout", "actor", "ref", "critic"))]}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    path = folder / "areal" / "api" / "cli_args.py"
    known = classes([path])
    name = TABLE if TABLE in known else "PPOConfig"
    names = {**constants(tree(path)), "MISSING": REQUIRED}
    if (shared := folder / "areal" / "utils" / "constants.py").is_file():
        names |= constants(tree(shared))
    fields = nested_fields(name, known, "", names)
    for key, field in nested_fields("PPOConfig", known, "", names).items() if "PPOConfig" in known else ():
        fields.setdefault(key, replace(field, default=REQUIRED))  # up to 0.4.1 only PPO runs have a critic
    snapshot.add(TABLE, fields)
    return snapshot
