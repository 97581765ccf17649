"""SGLang: the fields of ServerArgs, which `sgl.Engine` takes by keyword and the server by option.

Up to 0.5.16 each option has its `add_argument` call. Since then most options come from the annotations of the fields
(`tp_size: A[int, Arg(help=..., aliases=["--tp"])]`), which 0.5.20 moved from one class to several.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .history import Snapshot
from .source import Field, called, class_fields, constants, option, text, tree, value

PACKAGE = "sglang"
SINCE = "0.4.6"
SDIST = True
WANTED = re.compile(r"sglang/srt/(?:server_args\.py|arg_groups/.*\.py|utils(?:/common)?\.py)")
STRICT = True
ABBREVIATIONS = True
BASE = ""
OPEN: dict[str, list[str]] = {}
TABLE = "ServerArgs"


@dataclass
class _Spelling:
    """How a field is written on the command line. `names` are without dashes, in underscores."""

    names: list[str]
    choices: tuple[Any, ...] = ()
    kind: str = ""


def read(version: str, folder: Path) -> Snapshot:
    home = folder / "sglang" / "srt"
    modules = [tree(path) for path in (home / "server_args.py", *sorted((home / "arg_groups").rglob("*.py")))]
    names = _constants(home, modules)
    known = {node.name: node for module in modules for node in module.body if isinstance(node, ast.ClassDef)}
    owners = [name for name, node in known.items() if name == TABLE or _is_namespace(node)]
    fields: dict[str, Field] = {}
    spellings: dict[str, _Spelling] = {}
    for owner in owners:
        fields |= class_fields(owner, known, names)
        spellings |= dict(_annotated(known[owner], names))
    snapshot = Snapshot(version, aliases={TABLE: {}, "server": {}})
    server: dict[str, Field] = {}
    for made, shown in _called(modules[0], names | {f"{TABLE}.{key}": item.default for key, item in fields.items()}):
        key = next((name for name in (*shown.names, made[0]) if name in fields), shown.names[0])
        if key in fields:
            spellings.setdefault(key, shown).names.extend(shown.names)
        else:
            server[key] = made[1]
            snapshot.aliases["server"].update({name: key for name in shown.names if name != key})
    for key, shown in spellings.items():
        fields[key] = replace(fields[key], choices=shown.choices, type=shown.kind or fields[key].type)
        snapshot.aliases[TABLE].update({name: key for name in shown.names if name != key and name not in fields})
    snapshot.add(TABLE, fields)
    snapshot.add("server", server)
    return snapshot


def _constants(home: Path, modules: list[ast.Module]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    helpers = [path for path in (home / "utils.py", home / "utils" / "common.py") if path.is_file()]
    for module in (*map(tree, helpers), *modules):
        names |= constants(module)
    return names


def _is_namespace(node: ast.ClassDef) -> bool:
    """A class that ServerArgs collects fields from (0.5.20 on)."""
    return any(isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "_NS_PATH" for item in node.body)


def _called(module: ast.Module, names: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Field], _Spelling]]:
    """The options of `add_argument` calls: (destination, field) and how they are written."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), keywords=keywords):
                made = option(node, names)
                if made is None:
                    continue
                destination = next((text(item.value, names) for item in keywords if item.arg == "dest"), "")
                written = [name.replace("-", "_") for name in (*made.names, *made.short)]
                action = next((ast.unparse(item.value) for item in keywords if item.arg == "action"), "")
                switch = action.endswith(
                    ("StoreTrueAction", "BooleanOptionalAction")
                )  # the deprecated ones are own classes
                shown = _Spelling(written, made.field.choices, "bool" if switch else made.field.type)
                yield (destination or written[0], made.field), shown


def _annotated(owner: ast.ClassDef, names: Mapping[str, Any]) -> Iterator[tuple[str, _Spelling]]:
    """The options that come from `A[T, "help"]` and `A[T, Arg(...)]` annotations."""
    for node in owner.body:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=key), annotation=ast.Subscript(value=kind, slice=ast.Tuple(elts=[inner, *rest]))
            ) if called(kind) in ("A", "Annotated"):
                made = next((item for item in rest if isinstance(item, ast.Call) and called(item.func) == "Arg"), None)
                given = {item.arg: item.value for item in made.keywords if item.arg} if made is not None else {}
                if "no_cli" not in given:
                    yield key, _spelled(key, given, inner, names)


def _spelled(key: str, given: Mapping[str, ast.expr], inner: ast.expr, names: Mapping[str, Any]) -> _Spelling:
    main = text(given["cli_name"], names) if "cli_name" in given else key
    others = value(given["aliases"], names) if "aliases" in given else []
    written = [name.lstrip("-").replace("-", "_") for name in (main, *(others if isinstance(others, list) else []))]
    choices = value(given["choices"], names) if "choices" in given else []
    stand_in = ast.parse("x: int = 0").body[0]
    assert isinstance(stand_in, ast.AnnAssign)
    stand_in.annotation = inner
    found = class_fields("C", {"C": ast.ClassDef("C", [], [], [stand_in], [])})["x"]
    return _Spelling(written, tuple(choices) if isinstance(choices, list) else found.choices, found.type)
