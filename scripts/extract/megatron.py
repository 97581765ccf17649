"""Megatron-LM (read from a git clone: the wheel of megatron-core has no argument parser).

Table `arguments`: what `megatron/training/arguments.py` gives to argparse, by the flag as it is written, without its
leading dashes. From 0.16 on part of the flags is made from dataclasses (`ArgumentGroupFactory`), which is repeated here
on the syntax tree.

A switch has the type "switch" (takes no value, false until it is written, also where it switches something off) or
"toggle" (the same, and `--no-NAME` besides).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .history import Snapshot
from .source import Field, called, class_fields, classes, constants, text, tree, value

PACKAGE = "megatron-core"
REPOSITORY = "https://github.com/NVIDIA/Megatron-LM"
# The last one is the main branch of 2026-08-22, whose package_info.py says 0.20.0
REVISIONS = {
    **{
        version: f"core_v{version}"
        for version in (
            "0.12.0", "0.12.1", "0.12.2", "0.12.3", "0.13.0", "0.13.1", "0.14.0", "0.15.0", "0.15.1", "0.15.2",
            "0.15.3", "0.16.0", "0.16.1", "0.17.0", "0.17.1", "0.18.0", "0.18.2", "0.19.0",
        )
    },
    "0.20.0.dev20260822": "d98e8a64ddf34856e74b24714e3bedb2f5a39553",
}  # fmt: skip
WANTED = re.compile(
    r"megatron/training/(?:[a-z_]*arguments|(?:config/)?[a-z_]*config|argument_utils)\.py"
    r"|megatron/core/(?:model_parallel_config|fault_injector|optimizer/optimizer_config"
    r"|transformer/(?:transformer_config|enums|cuda_graph_config)|distributed/distributed_data_parallel_config)\.py"
    r"|megatron/post_training/arguments\.py|megatron/inference/utils\.py"
)
STRICT = True  # argparse stops at an unknown option; allow_abbrev is off
BASE = ""
OPEN: dict[str, list[str]] = {}
TABLE = "arguments"
# Programs that add options of their own: table, file, function
EXTRAS = (
    ("modelopt", "megatron/post_training/arguments.py", "add_modelopt_args"),
    ("inference", "megatron/inference/utils.py", "add_inference_args"),
)


@dataclass(frozen=True)
class Flag:
    names: tuple[str, ...]
    field: Field


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    paths = sorted(folder.rglob("*.py"))
    known = classes(paths)
    names: dict[str, Any] = {}
    for path in paths:
        names.update({key: item for key, item in constants(tree(path)).items() if "." not in key})
    _add(snapshot, TABLE, _flags_of_module(tree(folder / "megatron/training/arguments.py"), known, names))
    for table, file, function in EXTRAS:
        if (folder / file).is_file():
            _add(snapshot, table, _flags_of_function(_function(tree(folder / file), function), known, names))
    return snapshot


def _add(snapshot: Snapshot, table: str, flags: Iterator[Flag]) -> None:
    for flag in flags:
        key, *others = flag.names
        snapshot.add(table, {key: flag.field})
        snapshot.aliases.setdefault(table, {}).update(dict.fromkeys(others, key))


def _function(module: ast.Module, name: str) -> ast.FunctionDef:
    return next(node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name)


def _flags_of_module(module: ast.Module, known: Mapping[str, ast.ClassDef], names: Mapping[str, Any]) -> Iterator[Flag]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_add_"):
            yield from _flags_of_function(node, known, names)


def _flags_of_function(
    function: ast.FunctionDef, known: Mapping[str, ast.ClassDef], names: Mapping[str, Any]
) -> Iterator[Flag]:
    """The flags of one function, in order: `add_argument` calls and the fields of the dataclasses it builds from."""
    local = dict(names)
    factories: dict[str, ast.Call] = {}
    for node in _statements(function.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _is_factory(call):
                factories[name] = call
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List() as items):
                local[name] = value(items, local)
        for call in ast.walk(node):
            match call:
                case ast.Call(func=ast.Attribute(attr="add_argument")):
                    yield from flag(call, local)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="build_group")) if name in factories:
                    yield from _flags_of_class(factories[name], known, local)
                case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr="build_group")) if _is_factory(made):
                    yield from _flags_of_class(made, known, local)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements without bodies, in order; both branches of an `if` count."""
    for node in body:
        inner = [part for name in ("body", "orelse", "handlers") for part in getattr(node, name, [])]
        if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.ExceptHandler, ast.FunctionDef)):
            yield from _statements(inner)
        else:
            yield node


def _is_factory(call: ast.Call) -> bool:
    return called(call.func).endswith("GroupFactory")


# -- add_argument -----------------------------------------------------------------------------------------------------


def flag(call: ast.Call, names: Mapping[str, Any]) -> Iterator[Flag]:
    """The flag of one `add_argument` call (or of a call of the same form); none for a positional argument."""
    written = [name for name in (text(argument, names) for argument in call.args) if name.startswith("--")]
    if not written:
        return
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    yield Flag(tuple(name.removeprefix("--") for name in written), _field(given, names))


def _field(given: Mapping[str, ast.expr], names: Mapping[str, Any]) -> Field:
    action = given.get("action")
    kind = "toggle" if action is not None and "BooleanOptionalAction" in ast.unparse(action) else ""
    if isinstance(action, ast.Constant) and action.value in ("store_true", "store_false"):
        return Field(False, "switch")
    if isinstance(action, ast.Constant) and action.value == "store_const":
        return Field(value(given["default"], names) if "default" in given else None, "switch")
    default = value(given["default"], names) if "default" in given else None
    if not kind:
        kind = "list" if "nargs" in given and _many(given["nargs"]) else ast.unparse(given.get("type", ast.Name("str")))
    choices = _choices(given.get("choices"), names)
    return Field(default, kind if kind in _TYPES else "", choices)


_TYPES = ("toggle", "switch", "list", "int", "float", "str", "bool")


def _many(nargs: ast.expr) -> bool:
    return isinstance(nargs, ast.Constant) and nargs.value != "?"


def _choices(node: ast.expr | None, names: Mapping[str, Any]) -> tuple[Any, ...]:
    found = value(node, names) if node is not None else []
    return tuple(found) if isinstance(found, list) else ()


# -- flags made from dataclasses --------------------------------------------------------------------------------------


def _flags_of_class(call: ast.Call, known: Mapping[str, ast.ClassDef], names: Mapping[str, Any]) -> Iterator[Flag]:
    name = call.args[0].id if isinstance(call.args[0], ast.Name) else ""
    if name not in known:
        return
    excluded = next((keyword.value for keyword in call.keywords if keyword.arg == "exclude"), None)
    skip = value(excluded, names) if excluded is not None else []
    meta = dict(_meta(name, known))
    for field_name, field in class_fields(name, known, names).items():
        if field_name not in skip:
            yield _flag_of_field(field_name, field, meta.get(field_name, {}), known, names)


def _flag_of_field(
    name: str, field: Field, meta: Mapping[str, ast.expr], known: Mapping[str, ast.ClassDef], names: Mapping[str, Any]
) -> Flag:
    """What ArgumentGroupFactory makes of a field: a switch for a bool, `--no-` and `--disable-` for one that is on."""
    dashed = name.replace("_", "-")
    is_switch = field.type == "bool"
    spellings = [f"no-{dashed}", f"disable-{dashed}"] if is_switch and field.default is not False else [dashed]
    if (stated := value(meta["arg_names"], names) if "arg_names" in meta else None) and isinstance(stated, list):
        spellings = [spelling.removeprefix("--") for spelling in stated]
    if is_switch:
        made = Field(False, "switch")
    else:
        enum = next((known[other] for other in field.classes if other in known and _is_enum(known[other])), None)
        made = replace(field, choices=field.choices or _members(enum), alias="", classes=())
        made = replace(made, default=_member_name(made.default))
        if made.choices and all(type(choice) is int for choice in made.choices):
            made = replace(made, type="int")  # a Literal of numbers
    if "default" in meta and not is_switch:
        made = replace(made, default=value(meta["default"], names))
    if "choices" in meta:
        made = replace(made, choices=_choices(meta["choices"], names))
    return Flag(tuple(spellings), made)


def _member_name(default: Any) -> Any:
    """ "auto" for `AttnBackend.auto`: argparse takes the names of an enum's members."""
    found = re.fullmatch(r"[A-Z]\w+\.(\w+)", default.get("expr", "")) if isinstance(default, dict) else None
    return found[1] if found else default


def _is_enum(node: ast.ClassDef) -> bool:
    return any("Enum" in ast.unparse(base) for base in node.bases)


def _members(node: ast.ClassDef | None) -> tuple[str, ...]:
    if node is None:
        return ()
    return tuple(target.id for item in node.body if isinstance(item, ast.Assign) for target in item.targets
                 if isinstance(target, ast.Name))  # fmt: skip


def _meta(name: str, known: Mapping[str, ast.ClassDef]) -> Iterator[tuple[str, dict[str, ast.expr]]]:
    """The "argparse_meta" of the fields of a class and its bases."""
    for base in known[name].bases:
        if isinstance(base, ast.Name) and base.id in known:
            yield from _meta(base.id, known)
    for node in known[name].body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found = {
                str(key.value): item
                for inner in ast.walk(node)
                if isinstance(inner, ast.Dict) and _has(inner, "argparse_meta")
                for entry in inner.values
                if isinstance(entry, ast.Dict)
                for key, item in zip(entry.keys, entry.values, strict=True)
                if isinstance(key, ast.Constant)
            }
            if found:
                yield node.target.id, found


def _has(node: ast.Dict, name: str) -> bool:
    return any(isinstance(key, ast.Constant) and key.value == name for key in node.keys)
