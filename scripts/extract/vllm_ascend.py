"""vLLM-Ascend: what `additional_config` holds (AscendConfig and its parts), and the plug-in's environment variables.

Up to 0.26.0rc1 the keys are those that the code asks the dictionary for, and unknown ones are ignored; from 0.27.1rc1
on they are fields of classes that refuse unknown ones. Most releases are candidates, and people use them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .history import Snapshot
from .source import Field, called, class_fields, tree, value

PACKAGE = "vllm-ascend"
SINCE = "0.7.3"
SDIST = True
CANDIDATES = True
WANTED = re.compile(r"vllm_ascend/(?:ascend_config|envs|platform)\.py")
BASE = ""
OPEN: dict[str, list[str]] = {"additional_config": ["dump_config", "hamming_sparse"]}
_ROOT = "AscendConfig"
# Read from the dictionary before the fields are made, with a warning (0.27.1rc1 on)
_MOVED = ("enable_balance_scheduling", "recompute_scheduler_enable", "short_request_first_config",
          "profiling_chunk_config", "batch_job_sched_config")  # fmt: skip


def read(version: str, folder: Path) -> Snapshot:
    home = folder / "vllm_ascend"
    snapshot = Snapshot(version)
    environment = dict(_environment(home / "envs.py")) if (home / "envs.py").is_file() else {}
    snapshot.add("environment", environment)
    module = tree(home / "ascend_config.py") if (home / "ascend_config.py").is_file() else ast.Module([], [])
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    found = dict(_asked(module, environment))
    if (home / "platform.py").is_file():
        found = dict(_asked(tree(home / "platform.py"), environment)) | found
    if _ROOT in classes and class_fields(_ROOT, classes):
        found |= dict(_nested(_ROOT, classes)) | dict.fromkeys(_MOVED, Field(None, "dict"))
        snapshot.closed["additional_config"] = {"": True}
    for section, name in _sections(module, classes):
        found |= {f"{section}.{key}": item for key, item in _parts(classes[name])}
    whole = {key.rpartition(".")[0] for key in found}
    snapshot.add("additional_config", {key: item for key, item in found.items() if key not in whole})
    return snapshot


def _environment(path: Path) -> Iterator[tuple[str, Field]]:
    """`"NAME": lambda: bool(int(os.getenv("NAME", "0")))`: the text that stands while the variable is unset."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Dict(keys=keys, values=values):
                for key, item in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        calls = [inner for inner in ast.walk(item) if isinstance(inner, ast.Call)]
                        asked = [call for call in calls if called(call.func) == "getenv"]
                        if asked:
                            yield key.value, Field(value(asked[0].args[1]) if len(asked[0].args) > 1 else None)


def _asked(module: ast.Module, environment: Mapping[str, Field]) -> Iterator[tuple[str, Field]]:
    """`additional_config.get("key", default)`, and values that fall back to an environment variable."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Attribute(attr="get") as function, args=[ast.Constant(value=str(key)), *rest]):
                if ast.unparse(function.value).endswith("additional_config"):
                    yield key, Field(value(rest[0]) if rest else None)
            case ast.Call(
                func=ast.Attribute(attr="_get_config_value"),
                args=[_, ast.Constant(value=str(key)), ast.Constant(value=str(name)), *_],
            ):
                yield key, Field(_number(environment[name].default) if name in environment else None)


def _number(default: Any) -> Any:
    return int(default) if isinstance(default, str) and default.isdecimal() else default


def _sections(module: ast.Module, classes: Mapping[str, ast.ClassDef]) -> Iterator[tuple[str, str]]:
    """`x = additional_config.get("section", {})` and `Class(x)` or `Class(**x)`: the section and its class."""
    variables: dict[str, str] = {}
    for node in ast.walk(module):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=variable)],
                value=ast.Call(func=ast.Attribute(attr="get") as function, args=[ast.Constant(value=str(key)), *_]),
            ) if ast.unparse(function.value).endswith("additional_config"):
                variables[variable] = key
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in classes:
                given = [*args, *(keyword.value for keyword in keywords if keyword.arg is None)]
                for item in given:
                    if isinstance(item, ast.Name) and item.id in variables:
                        yield variables[item.id], name


def _parts(node: ast.ClassDef) -> Iterator[tuple[str, Field]]:
    """The keys of one section: asked of its dictionary, named by __init__, or listed in `_defaults`."""
    for item in node.body:
        match item:
            case ast.Assign(targets=[ast.Name(id="_defaults")], value=ast.Dict() as listed):
                yield from ((key, Field(default)) for key, default in value(listed).items())
            case ast.FunctionDef(name="__init__", args=arguments):
                if arguments.kwarg is not None:
                    defaults = arguments.defaults[-len(arguments.args) + 1 :]
                    named = arguments.args[len(arguments.args) - len(defaults) :]
                    yield from ((name.arg, Field(value(given))) for name, given in zip(named, defaults, strict=True))
                own = {argument.arg for argument in arguments.args} | {"kwargs"}
                for call in ast.walk(item):
                    match call:
                        case ast.Call(
                            func=ast.Attribute(value=ast.Name(id=owner), attr="get"),
                            args=[ast.Constant(value=str(key)), *rest],
                        ) if owner in own:
                            yield key, Field(value(rest[0]) if rest else None)


def _nested(name: str, classes: Mapping[str, ast.ClassDef], prefix: str = "") -> Iterator[tuple[str, Field]]:
    for key, found in class_fields(name, classes).items():
        inner = next((part for part in found.classes if part in classes), None)
        if inner is None:
            yield prefix + key, found
        else:
            yield from _nested(inner, classes, f"{prefix}{key}.")
