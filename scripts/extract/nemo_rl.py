"""NeMo-RL (read from a git clone): the GRPO example configs, parents merged, and the keys that its types declare.

A run starts from a YAML file, whose `defaults:` name parents; what the file and its parents do not set has no value.
Each config in examples/configs that trains by GRPO is a table of its own. `MasterConfig` has the declared keys, which
carry defaults only where the types give some (pydantic, from 0.7.0 on). Some keys are read without being declared:
`examples` has those that any of the release's examples sets, without a value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .history import Snapshot
from .nested import nested_fields
from .source import REQUIRED, classes
from .yaml_tables import flat, load

PACKAGE = "nemo-rl"
REPOSITORY = "https://github.com/NVIDIA-NeMo/RL"
REVISIONS = {f"0.{minor}": f"v0.{minor}" for minor in ("2.1", "3.0", "3.1", "4.0", "5.0", "6.0", "7.0")}
WANTED = re.compile(
    r"examples/.*\.yaml|nemo_rl/(?:algorithms|data|data_plane|distributed|models|utils|environments)/.*\.py"
)
STRICT = False  # a key in a file that nothing reads is no error; an override of one is, which the adapter judges
BASE = "grpo_math_1B"
OPEN = {
    "MasterConfig": [
        "env", "data", "logger", "policy.hf_config_overrides", "policy.tokenizer", "policy.optimizer.kwargs",
        "policy.scheduler", "policy.generation.vllm_kwargs", "policy.generation.sglang_cfg",
        "policy.generation.mcore_generation_config", "policy.dtensor_cfg.automodel_kwargs",
        "policy.dtensor_cfg.env_vars", "policy.megatron_cfg.env_vars", "policy.generation.vllm_cfg.env_vars",
        "policy.generation.vllm_cfg.http_server_serving_chat_kwargs", "on_policy_distillation", "data_plane",
    ],
}  # fmt: skip
JUDGED = ("grpo.", "loss_fn.", "policy.", "cluster.", "checkpointing.")
# Kinds of the generation section that its declared type leaves out
GENERATION = ("VllmConfig", "SGLangConfig", "MegatronGenerationConfig", "MCoreGenerationConfig")


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    configs = folder / "examples" / "configs"
    for path in sorted(configs.glob("*.yaml")):
        content = composed(path)
        if "grpo" in content and "policy" in content:
            snapshot.tables[path.stem] = flat(content)
    known = classes(sorted((folder / "nemo_rl").rglob("*.py")))
    grpo = classes([folder / "nemo_rl" / "algorithms" / "grpo.py"])  # other trainers have a MasterConfig as well
    known = {**known, **grpo}
    fields = nested_fields("MasterConfig", known)
    for kind in GENERATION:
        if kind in known:
            fields.update(nested_fields(kind, known, "policy.generation."))
    snapshot.add("MasterConfig", fields)
    used = {key for path in (folder / "examples").rglob("*.yaml") for key in flat(_content(path))}
    declared = set(fields)
    snapshot.tables["examples"] = {key: REQUIRED for key in used - declared if key.startswith(JUDGED)}
    return snapshot


def _content(path: Path) -> dict[str, Any]:
    content = load(path)
    return content if isinstance(content, dict) else {}


def composed(path: Path) -> dict[str, Any]:
    """The file over its parents; a section with `_override_: true` replaces its parent's."""
    own = load(path)
    parents = own.pop("defaults", [])
    merged: dict[str, Any] = {}
    for parent in [parents] if isinstance(parents, str) else parents:
        merged = _merge(merged, composed(path.parent / parent))
    for name, section in own.items():
        if isinstance(section, dict) and section.pop("_override_", False):
            merged.pop(name, None)
    return _merge(merged, own)


def _merge(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    merged = dict(low)
    for name, item in high.items():
        both = isinstance(item, dict) and isinstance(merged.get(name), dict)
        merged[name] = _merge(merged[name], item) if both else item
    return merged
