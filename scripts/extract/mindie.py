"""MindIE Service (no package on the index, read from a git clone): the sections of its config.json.

The keys and which of them must be there come from the checks of src/config_manager (C++ tables of name, type and
whether it is required), the values from the file that is shipped with the release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .history import Snapshot
from .source import REQUIRED, Field

PACKAGE = "mindie-llm"
REPOSITORY = "https://gitcode.com/Ascend/MindIE-LLM"
REVISIONS = {
    "3.0.0b1": "5e896196ce2c1ed3f14cec0a622de2072c3c75b4",
    "3.0.0b2": "f50aff8fe54df57da6f10573142a89b300349641",
    "3.0.0": "8b4871ad31f592aa863f6255760e4934484d78e4",
}
WANTED = re.compile(r"src/server/conf/config\.json|src/config_manager/\w+_config\.cpp")
BASE = ""
TABLE = "config"
_MODEL = "BackendConfig.ModelDeployConfig.ModelConfig"
# Whose table stands for which section of the file
_SECTIONS = {
    "g_serverParamsConstraint": "ServerConfig",
    "g_backendConfigConstraint": "BackendConfig",
    "g_modelParentParamsConstraint": "BackendConfig.ModelDeployConfig",
    "g_modelParamsConstraint": _MODEL,
    "g_scheduleParamsConstraint": "BackendConfig.ScheduleConfig",
}
_TYPES = {"string": "str", "bool": "bool", "int32_t": "int", "uint32_t": "int", "float": "float", "array": "list"}
_ROW = re.compile(r'\{"(\w+)", "(\w+)", (true|false)\}')
# Variables of the same code that hold a section
_VARIABLES = {
    "serverJsonData": "ServerConfig",
    "backendJsonData": "BackendConfig",
    "modelJsonData": "BackendConfig.ModelDeployConfig",
    "scheduleJsonData": "BackendConfig.ScheduleConfig",
}
_READ = re.compile(r'\b(\w+JsonData)(?:\.contains\(|\[)"(\w+)"')
# What a model holds beyond the known keys is handed on to it
OPEN = {TABLE: [_MODEL, "BackendConfig.kvPoolConfig", "BackendConfig.ModelDeployConfig.LoraModules", "LogConfig"]}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    fields: dict[str, Field] = {}
    for path in sorted((folder / "src" / "config_manager").glob("*.cpp")):
        source = path.read_text(encoding="utf-8")
        fields = dict(_read_by_name(source)) | fields | dict(_checked(source))
    shipped = json.loads((folder / "src" / "server" / "conf" / "config.json").read_text(encoding="utf-8"))
    for key, default in _leaves(shipped):
        known = fields.get(key, Field(None))
        fields[key] = Field(default, known.type or (type(default).__name__ if default not in (None, "") else ""))
    whole = {key.rpartition(".")[0] for key in fields}
    snapshot.add(TABLE, {key: item for key, item in fields.items() if key not in whole})
    return snapshot


def _checked(source: str) -> Iterator[tuple[str, Field]]:
    """The rows of the C++ tables. An optional key that the shipped file leaves out has no default that is known."""
    for name, body in re.findall(r"std::vector<ParamSpec> (\w+) = \{(.*?)\};", source, re.DOTALL):
        for key, kind, required in _ROW.findall(body):
            if (section := _SECTIONS.get(name)) is not None and kind != "object":
                yield f"{section}.{key}", Field(REQUIRED if required == "true" else None, _TYPES.get(kind, ""))


def _read_by_name(source: str) -> Iterator[tuple[str, Field]]:
    """Keys that the code asks a section for; sections themselves are none."""
    for variable, key in _READ.findall(source):
        if variable in _VARIABLES and not key.endswith("Config"):
            yield f"{_VARIABLES[variable]}.{key}", Field(None)


def _leaves(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths. ModelConfig is a list of models, whose first one stands for all."""
    for key, item in tree.items():
        item = item[0] if key == "ModelConfig" else item
        if isinstance(item, dict) and item and (f"{prefix}{key}" not in OPEN[TABLE] or key == "ModelConfig"):
            yield from _leaves(item, f"{prefix}{key}.")
        else:
            yield prefix + key, item
