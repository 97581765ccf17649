"""Megatron-Bridge (read from a git clone): the fields of its ConfigContainer, as dotted keys.

Part of the classes stand on those of the Megatron-LM commit that a release pins as a submodule; `--beside` names a
clone of it. The section `model` is a provider of the recipe's choice: TransformerConfig's fields stand for it, and it
takes others besides. What depends on the recipe (dataset, peft ...) is open.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from . import megatron
from .history import Snapshot
from .source import Field, class_fields, classes

PACKAGE = "megatron-bridge"
REPOSITORY = "https://github.com/NVIDIA-NeMo/Megatron-Bridge"
REVISIONS = {
    version: f"v{version}" for version in ("0.3.0", "0.3.1", "0.4.0", "0.4.1", "0.4.2", "0.5.0", "0.5.1", "0.6.0")
}
WANTED = re.compile(
    r"src/megatron/bridge/training/(?:config|mixed_precision|comm_overlap|tokenizers/config)\.py"
    r"|src/megatron/bridge/models/gpt_provider\.py"
)
SUBMODULE = "3rdparty/Megatron-LM"
BESIDE = megatron.WANTED
STRICT = True  # overrides go into a struct: an unknown key stops the run
BASE = ""
TABLE = "ConfigContainer"
SECTIONS = {
    "rng": "RNGConfig",
    "rerun_state_machine": "RerunStateMachineConfig",
    "train": "TrainingConfig",
    "validation": "ValidationConfig",
    "optimizer": "OptimizerConfig",
    "ddp": "DistributedDataParallelConfig",
    "scheduler": "SchedulerConfig",
    "logger": "LoggerConfig",
    "tokenizer": "TokenizerConfig",
    "checkpoint": "CheckpointConfig",
    "dist": "DistributedInitConfig",
    "ft": "FaultToleranceConfig",
    "straggler": "StragglerDetectionConfig",
    "nvrx_straggler": "NVRxStragglerDetectionConfig",
    "profiling": "ProfilingConfig",
    "tensor_inspect": "TensorInspectConfig",
    "inprocess_restart": "InProcessRestartConfig",
    "comm_overlap": "CommOverlapConfig",
    "mixed_precision": "MixedPrecisionConfig",
    "model": "TransformerConfig",
}
OPEN = {TABLE: ["model", "dataset", "peft", "env_vars", "optimizer_config_override_provider", "mixed_precision"]}


def read(version: str, folder: Path, beside: Path) -> Snapshot:
    """The sections' classes by name; a class of Bridge with the name of its base in Megatron stands on that base."""
    snapshot = Snapshot(version)
    own = classes(sorted(folder.rglob("*.py"), key=lambda path: path.name != "config.py"))
    core = classes(sorted(beside.rglob("*.py")))
    for section, name in SECTIONS.items():
        extends = name not in own or any(ast.unparse(base).endswith(name) for base in own[name].bases)
        fields: dict[str, Field] = class_fields(name, core) if name in core and extends else {}
        fields |= class_fields(name, own) if name in own else {}
        snapshot.add(TABLE, {f"{section}.{key}": field for key, field in fields.items()})
    return snapshot
