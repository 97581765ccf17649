"""rLLM (no package on the index, read from a git clone): what its trainer configurations put on top of verl's.

The tables hold rLLM's own files only. `agent_ppo_trainer` and the verl back end of `unified` start from the ppo_trainer
of the installed verl, whose table belongs below (`requires` holds the version that pyproject.toml pins); the tinker and
fireworks back ends stand alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .history import Snapshot
from .yaml_tables import flat, load

PACKAGE = "rllm"
REPOSITORY = "https://github.com/rllm-org/rllm"
# The last one is the main branch of 2026-08-15, whose pyproject.toml still says 0.3.0.pre
REVISIONS = {
    "0.2.0": "v0.2.0",
    "0.2.1": "v0.2.1",
    "0.2.1.post1": "v0.2.1.post1",
    "0.3.0.pre0": "v0.3.0-pre",
    "0.3.0.pre0.post20260815": "9beb6e0f676a46d38858991fd79ac5f8e0b16d4c",
}
WANTED = re.compile(
    r"pyproject\.toml|rllm/(?:trainer|experimental)/config/"
    r"(?:agent_ppo_trainer(?:_megatron)?|tinker_rl_trainer|unified|rllm/base|rllm/backend/[a-z]+)\.yaml"
)
STRICT = True  # unknown keys stop the run
BASE = ""
BACKENDS = ("verl", "tinker", "fireworks")
OPEN = {name: ["hydra"] for name in ("agent_ppo_trainer", "agent_ppo_trainer_megatron", "unified_verl")}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    pinned = re.search(r"\"verl==([^\"]+)\"", (folder / "pyproject.toml").read_text(encoding="utf-8"))
    snapshot.tables["requires"] = {"verl": pinned[1]} if pinned else {}
    for home in (folder / "rllm" / "trainer" / "config", folder / "rllm" / "experimental" / "config"):
        for name in ("agent_ppo_trainer", "agent_ppo_trainer_megatron", "tinker_rl_trainer"):
            if (home / f"{name}.yaml").is_file():
                snapshot.tables[name] = flat(_own(home / f"{name}.yaml"))
        for backend in BACKENDS:
            if (path := home / "rllm" / "backend" / f"{backend}.yaml").is_file():
                common = flat(load(home / "rllm" / "base.yaml"), "rllm")
                snapshot.tables[f"unified_{backend}"] = {**common, **flat(_own(path))}
    return snapshot


def _own(path: Path) -> dict[str, Any]:
    return {key: item for key, item in load(path).items() if key not in ("defaults", "hydra")}
