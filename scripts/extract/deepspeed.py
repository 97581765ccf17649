"""DeepSpeed: the keys of ds_config, flattened ("zero_optimization.stage").

Two ways of reading live side by side in its source: pydantic models, and `get_scalar_param(dict, KEY, DEFAULT)` with
names from constants modules. Sections that RL training does not use are kept as open dictionaries.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .history import Snapshot
from .source import Field, called, class_fields, classes, constants, text, tree, value

PACKAGE = "deepspeed"
SINCE = "0.14.0"
WANTED = re.compile(
    r"deepspeed/(?:runtime|comm|monitor|profiling|compile|utils)/"
    r"(?:[a-z_]+/)?(?:[a-z_]*config|constants|compiler)\.py"
)
BASE = ""
OPEN: dict[str, list[str]] = {}
TABLE = "ds_config"

# JSON section, file, pydantic model; a section that moved stands twice
MODELS = (
    ("zero_optimization", "runtime/zero/config.py", "DeepSpeedZeroConfig"),
    ("bf16", "runtime/precision_config.py", "DeepSpeedBF16Config"),
    ("fp16", "runtime/precision_config.py", "DeepSpeedFP16Config"),
    ("comms_logger", "comm/config.py", "CommsLoggerConfig"),
    ("tensorboard", "monitor/config.py", "TensorBoardConfig"),
    ("wandb", "monitor/config.py", "WandbConfig"),
    ("csv_monitor", "monitor/config.py", "CSVConfig"),
    ("comet", "monitor/config.py", "CometConfig"),
    ("compile", "runtime/compiler.py", "CompileConfig"),
    ("compile", "compile/config.py", "CompileConfig"),
    ("timers.throughput", "utils/config.py", "DeepSpeedThroughputTimerConfig"),
    ("tensor_parallel", "runtime/tensor_parallel/config.py", "TPTrainingConfig"),
    ("hybrid_engine", "runtime/config.py", "HybridEngineConfig"),
)
NESTED_MODELS = (
    "runtime/zero/offload_config.py",
    "runtime/zero/leaf_module_config.py",
    "runtime/zenflow/zenflow_config.py",
)

# Files with get_scalar_param, and where their names come from
SCALAR_FILES = {
    "runtime/config.py": ("runtime/constants.py",),
    "runtime/activation_checkpointing/config.py": (),
    "profiling/config.py": ("profiling/constants.py",),
    "runtime/swap_tensor/aio_config.py": ("runtime/swap_tensor/constants.py",),
    "runtime/model_checkpointing/config.py": ("runtime/model_checkpointing/constants.py",),
}
# Section that a local variable of these files stands for
VARIABLES = {
    "param_dict": "",
    "key": "bf16",  # loop over "bf16" and the older "bfloat16"
    "fp16_dict": "fp16",
    "act_chkpt_config_dict": "activation_checkpointing",
    "flops_profiler_dict": "flops_profiler",
    "aio_dict": "aio",
    "checkpoint_params": "checkpoint",
    "checkpoint_dict": "checkpoint",
    "par_write_params": "checkpoint.parallel_write",
    "writer_dict": "checkpoint.writer",
    "data_types_params": "data_types",
}
READERS = {"get_scalar_param", "get", "get_communication_data_type"}
# Sections read by a function elsewhere, kept as open dictionaries: name and the call in runtime/config.py
OTHER_SECTIONS = {
    "autotuning": "DeepSpeedAutotuningConfig(",
    "compression_training": "get_compression_config(",
    "curriculum_learning": "get_curriculum_params_legacy(",
    "data_efficiency": "get_data_efficiency_config(",
    "datastates_ckpt": "DeepSpeedDataStatesConfig(",
    "elasticity": "elasticity_enabled(",
    "nebula": "DeepSpeedNebulaConfig(",
    "quantize_training": "param_dict[QUANTIZE_TRAINING]",
}
OPTIMIZER = {
    "optimizer.type": Field(None, "str"),
    "optimizer.params": Field({}, "dict"),
    "optimizer.legacy_fusion": Field(False, "bool"),
    "scheduler.type": Field(None, "str"),
    "scheduler.params": Field({}, "dict"),
}
# Read without a default: section, key, constant that names the key
WITHOUT_DEFAULT = (
    ("torch_autocast", "dtype", "TORCH_AUTOCAST_DTYPE"),
    ("torch_autocast", "lower_precision_safe_modules", "TORCH_AUTOCAST_LOWER_PRECISION_SAFE_MODULES"),
)
INSIDE_SPARSE_ATTENTION = {"mode", "attention"}  # its functions call their own part param_dict, too
SCALARS_WITHOUT_DEFAULT = {"sequence_parallel_size"}
UNUSED_SECTIONS = {"sparse_attention", "quantize_training", "eigenvalue", "progressive_layer_drop", "amp"}


def read(version: str, folder: Path) -> Snapshot:
    package = folder / "deepspeed"
    snapshot = Snapshot(version, aliases={TABLE: {}})
    fields: dict[str, Field] = dict(OPTIMIZER)
    for file, sources in SCALAR_FILES.items():
        if (package / file).is_file():
            fields.update(_scalars(package, file, sources))
    for section, file, model in MODELS:
        known = classes([package / name for name in (file, *NESTED_MODELS)])
        if model in known:
            snapshot.closed.setdefault(TABLE, {})[section] = True  # pydantic refuses unknown keys here
            _add_model(section, model, known, _names(package, (file, *NESTED_MODELS)), fields, snapshot.aliases[TABLE])
    known_names = _names(package, ("runtime/config.py",))
    fields.update({f"{section}.{key}": Field(None) for section, key, name in WITHOUT_DEFAULT if name in known_names})
    for section in _sections(package):
        if section in SCALARS_WITHOUT_DEFAULT:
            fields[section] = Field(None)
        elif not any(key == section or key.startswith(section + ".") for key in fields):
            fields[section] = Field({}, "dict")
    for key in [key for key in fields if key.startswith("bf16.")]:
        snapshot.aliases[TABLE]["bfloat16" + key.removeprefix("bf16")] = key
    snapshot.add(TABLE, fields)
    return snapshot


def _names(package: Path, files: tuple[str, ...]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for file in files:
        if (package / file).is_file():
            names.update(constants(tree(package / file)))
            if (constants_file := package / Path(file).parent / "constants.py").is_file():
                names.update(constants(tree(constants_file)))
    return names


# -- pydantic models --


def _add_model(
    section: str, model: str, known: Mapping[str, ast.ClassDef], names: Mapping[str, Any],
    fields: dict[str, Field], aliases: dict[str, str],
) -> None:  # fmt: skip
    for name, field in class_fields(model, known, names).items():
        key = f"{section}.{field.alias or name}"
        if field.alias:
            aliases[f"{section}.{name}"] = key
        nested = next((other for other in field.classes if other in known and _is_model(known[other])), None)
        if nested:
            _add_model(key, nested, known, names, fields, aliases)
            if field.default is None:
                fields[key] = Field(None)  # the whole block is absent by default
        else:
            fields[key] = field


def _is_model(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "DeepSpeedConfigModel" for base in node.bases)


# -- get_scalar_param --


def _scalars(package: Path, file: str, sources: tuple[str, ...]) -> Iterator[tuple[str, Field]]:
    module = tree(package / file)
    names: dict[str, Any] = {}
    for source in sources:
        if (package / source).is_file():
            names.update(constants(tree(package / source)))
    names.update(constants(module))
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or called(node.func) not in READERS:
            continue
        receiver, arguments = _receiver(node)
        section = _section(receiver, names)
        if called(node.func) == "get_communication_data_type" and not arguments:
            arguments = [ast.Name("COMMUNICATION_DATA_TYPE"), ast.Name("COMMUNICATION_DATA_TYPE_DEFAULT")]
        if section is None or section in UNUSED_SECTIONS or len(arguments) != 2:
            continue
        if section == "" and file != "runtime/config.py":
            continue  # a section looked up by its own reader
        key = text(arguments[0], names)
        default = value(arguments[1], names)
        if key and default != {}:
            yield f"{section}.{key}" if section else key, Field(default)


def _receiver(node: ast.Call) -> tuple[ast.expr, list[ast.expr]]:
    if isinstance(node.func, ast.Attribute):
        return node.func.value, node.args
    return (node.args[0], node.args[1:]) if node.args else (node.func, [])


def _section(receiver: ast.expr, names: Mapping[str, Any]) -> str | None:
    match receiver:
        case ast.Name(id=name):
            return VARIABLES.get(name)
        case ast.Attribute(attr="_param_dict"):
            return ""
        case ast.Subscript(value=ast.Name(id="param_dict"), slice=ast.Name(id="key")):
            return "bf16"
        case ast.Subscript(value=ast.Name(id="param_dict"), slice=inner):
            return text(inner, names) or None
    return None


# -- whole sections --


def _sections(package: Path) -> set[str]:
    """Top-level names that are looked up in the configuration dictionary."""
    path = package / "runtime" / "config.py"
    source = path.read_text(encoding="utf-8")
    names = {**constants(tree(package / "runtime" / "constants.py")), **constants(tree(path))}
    found = {text(node, names) for node in _lookups(tree(path))}
    found.update(name for name, call in OTHER_SECTIONS.items() if call in source)
    return found - INSIDE_SPARSE_ATTENTION - {""}


def _lookups(module: ast.Module) -> Iterator[ast.expr]:
    dictionaries = {"param_dict", "ds_config"}
    for node in ast.walk(module):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=key) if name in dictionaries:
                yield key
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[key, *_]) if (
                name in dictionaries
            ):
                yield key
            case ast.Compare(left=key, ops=[ast.In()], comparators=[ast.Name(id=name)]) if name in {
                *dictionaries,
                "config",
            }:
                yield key
            case ast.Compare(
                left=key, ops=[ast.In()],
                comparators=[ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="keys"))],
            ) if name in dictionaries:  # fmt: skip
                yield key
