"""accelerate: the YAML of `accelerate config` (table "config") and the options of `accelerate launch` (table "launch").

`accelerate launch` copies the nested blocks of the YAML onto its options by name, so the keys of a block are the
options of the matching argument group; in three of the blocks the prefix of the option name may be left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from .history import Snapshot
from .source import Field, class_fields, classes, constants, options, tree

PACKAGE = "accelerate"
SINCE = "1.0.0"
WANTED = re.compile(r"accelerate/commands/(?:launch|config/config_args)\.py|accelerate/utils/constants\.py")
BASE = ""
OPEN: dict[str, list[str]] = {}
# Argument group in launch.py: block of the YAML
BLOCKS = {
    "deepspeed_args": "deepspeed_config",
    "fsdp_args": "fsdp_config",
    "megatron_lm_args": "megatron_lm_config",
    "fp8_args": "fp8_config",
    "mpirun_args": "mpirun_config",
    "parallelism_config_args": "parallelism_config",
}
OPTIONAL_PREFIX = {"fsdp_config": "fsdp_", "fp8_config": "fp8_", "dynamo_config": "dynamo_"}
# Filled in by BaseConfig.process_config when the file does not have them
FILLED = {
    "compute_environment": Field("LOCAL_MACHINE", "str"),
    "mixed_precision": Field("no", "str"),
    "use_cpu": Field(False, "bool"),
    "debug": Field(False, "bool"),
}
# Read by BaseConfig.process_config before the fields are checked: older spellings that still work
OLDER = {"fp16": Field(None, "bool"), "dynamo_backend": Field(None, "str")}


def read(version: str, folder: Path) -> Snapshot:
    package = folder / "accelerate"
    snapshot = Snapshot(version, aliases={"config": {}, "launch": {}})
    known = classes([package / "commands" / "config" / "config_args.py"])
    fields = {**class_fields("ClusterConfig", known), **FILLED, **OLDER}
    blocks = {name for name, field in fields.items() if field.type == "dict"}
    snapshot.add("config", {name: Field(None) if name in blocks else field for name, field in fields.items()})
    names = constants(tree(package / "utils" / "constants.py"))
    for option in options(tree(package / "commands" / "launch.py").body, names):
        key, *others = option.names
        snapshot.add("launch", {key: option.field})
        snapshot.aliases["launch"].update(dict.fromkeys(others, key))
        block = BLOCKS.get(option.group, "dynamo_config" if key.startswith("dynamo_") else "")
        if block in blocks:
            snapshot.add("config", {f"{block}.{key}": option.field})
            prefix = OPTIONAL_PREFIX.get(block)
            if prefix and key.startswith(prefix):
                snapshot.aliases["config"][f"{block}.{key.removeprefix(prefix)}"] = f"{block}.{key}"
    snapshot.closed = {"config": {"": True}, "launch": {"": True}}  # inside the blocks unknown keys pass unnoticed
    return snapshot
