"""What Python source says about its settings, read with `ast`: class fields, module constants, argparse options."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

REQUIRED = {"required": True}
MAX_EXPRESSION = 120
_NAMES = {"bool", "int", "float", "str", "list", "dict"}
_NUMERIC_CALLS = {"int": int, "float": float, "pp_int": int}  # pp_int: DeepSpeed's int with its own printed form


@dataclass(frozen=True)
class Field:
    default: Any
    type: str = ""
    choices: tuple[Any, ...] = ()
    alias: str = ""  # pydantic: the name in the JSON
    classes: tuple[str, ...] = ()  # other names in the annotation, e.g. a nested model


def tree(path: Path) -> ast.Module:
    source = path.read_text(encoding="utf-8")
    try:
        return ast.parse(source)
    except SyntaxError:  # type parameters (Python 3.12) are no part of what is read here
        return ast.parse(re.sub(r"^(\s*(?:async )?(?:def|class) \w+)\[[^\]]*\]", r"\1", source, flags=re.MULTILINE))


# -- values -----------------------------------------------------------------------------------------------------------


def value(node: ast.expr, names: Mapping[str, Any] | None = None) -> Any:
    """The JSON value of an expression, or {"expr": source} where the source alone does not fix it."""
    found = _constant(node, names or {})
    return expression(node) if found is _UNKNOWN else found


def expression(node: ast.expr) -> dict[str, str]:
    text = ast.unparse(node)
    return {"expr": text if len(text) <= MAX_EXPRESSION else text[: MAX_EXPRESSION - 3] + "..."}


_UNKNOWN = object()


def _constant(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=constant):
            return _UNKNOWN if constant is ... or isinstance(constant, (bytes, complex)) else constant
        case ast.Name(id=name):
            return names.get(name, _UNKNOWN)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return names.get(f"{owner}.{name}", _UNKNOWN)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return _all([_constant(item, names) for item in items])
        case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
            found = _all([_constant(item, names) for item in values])
            if found is _UNKNOWN:
                return _UNKNOWN
            return {str(key.value): item for key, item in zip(keys, found, strict=True)}  # type: ignore[union-attr]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _constant(operand, names)
            return -number if isinstance(number, (int, float)) else _UNKNOWN
        case ast.BinOp(left=left, op=operator, right=right):
            return _arithmetic(operator, _constant(left, names), _constant(right, names))
        case ast.IfExp(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), body=body, orelse=other):
            sides = _all([_constant(left, names), _constant(right, names)])
            return _UNKNOWN if sides is _UNKNOWN else _constant(body if sides[0] == sides[1] else other, names)
        case ast.Call(func=ast.Name(id="list" | "dict" as kind), args=[], keywords=[]):
            return [] if kind == "list" else {}
        case ast.Call(func=ast.Name(id="list"), args=[items]):
            return _constant(items, names)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _NUMERIC_CALLS:
            number = _constant(first, names)
            if not isinstance(number, (int, float)) or not math.isfinite(number):
                return _UNKNOWN
            return _NUMERIC_CALLS[name](number)
    return _UNKNOWN


def _all(items: list[Any]) -> Any:
    return _UNKNOWN if any(item is _UNKNOWN for item in items) else items


def _arithmetic(operator: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str) and isinstance(operator, ast.Add):
        return left + right
    if not all(isinstance(side, (int, float)) for side in (left, right)):
        return _UNKNOWN
    match operator:
        case ast.Mult():
            return left * right
        case ast.Pow() if abs(right) <= 64:
            return left**right
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
    return _UNKNOWN


def constants(module: ast.Module) -> dict[str, Any]:
    """NAME = value of the module's body, and "Class.NAME" of its classes, where the source fixes the value."""
    found: dict[str, Any] = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                _assign(inner, f"{node.name}.", found)
        else:
            _assign(node, "", found)
    return found


def _assign(node: ast.stmt, prefix: str, found: dict[str, Any]) -> None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=assigned):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as assigned):
            pass
        case _:
            return
    constant = _constant(assigned, found)
    if constant is not _UNKNOWN:
        found[prefix + name] = constant


# -- classes with annotated fields (dataclasses, pydantic models) -----------------------------------------------------


def classes(paths: Sequence[Path]) -> dict[str, ast.ClassDef]:
    """Classes of the files that exist, by name; an earlier file wins."""
    found: dict[str, ast.ClassDef] = {}
    for path in paths:
        if path.is_file():
            for node in ast.walk(tree(path)):
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, node)
    return found


def class_fields(
    name: str, known: Mapping[str, ast.ClassDef], names: Mapping[str, Any] | None = None
) -> dict[str, Field]:
    """The fields of a class, its bases (as far as they are in `known`) first."""
    fields: dict[str, Field] = {}
    for base in reversed(known[name].bases):
        base_name = base.attr if isinstance(base, ast.Attribute) else ast.unparse(base)
        if base_name in known and base_name != name:
            fields.update(class_fields(base_name, known, names))
    local = {**(names or {}), **_class_constants(known[name])}
    for node in known[name].body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if node.target.id.startswith("_") or "ClassVar" in ast.unparse(node.annotation) or _not_in_init(node.value):
            continue
        fields[node.target.id] = _field(node, local)
    return fields


def _not_in_init(node: ast.expr | None) -> bool:
    """field(init=False): nobody can set it."""
    if not isinstance(node, ast.Call) or called(node.func) != "field":
        return False
    return any(item.arg == "init" and ast.unparse(item.value) == "False" for item in node.keywords)


def _class_constants(node: ast.ClassDef) -> dict[str, Any]:
    """NAME = value of the class body, unless a branch of the body may change it."""
    found: dict[str, Any] = {}
    for statement in node.body:
        _assign(statement, "", found)
    branches = [inner for statement in node.body if isinstance(statement, ast.If) for inner in ast.walk(statement)]
    changed = {inner.id for inner in branches if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    return {name: item for name, item in found.items() if name not in changed}


def _field(node: ast.AnnAssign, names: Mapping[str, Any]) -> Field:
    metadata: Any = None
    default: Any = REQUIRED
    alias = ""
    match node.value:
        case None:
            pass
        case ast.Call(func=function, args=positional, keywords=keywords) if called(function) in ("field", "Field"):
            given = {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
            metadata = given.get("metadata")
            alias = text(given["alias"], names) if "alias" in given else ""
            if "default" in given:
                default = value(given["default"], names)
            elif "default_factory" in given:
                default = _factory(given["default_factory"], names)
            elif positional:
                is_ellipsis = isinstance(positional[0], ast.Constant) and positional[0].value is ...
                default = REQUIRED if is_ellipsis else value(positional[0], names)
        case other:
            default = value(other, names)
    return Field(default, type_name(node.annotation), _metadata_choices(metadata, node.annotation), alias, _names(node))


def _names(node: ast.AnnAssign) -> tuple[str, ...]:
    return tuple(inner.id for inner in ast.walk(node.annotation) if isinstance(inner, ast.Name))


def called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _factory(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id="list"):
            return []
        case ast.Name(id="dict"):
            return {}
        case ast.Lambda(body=body):
            return value(body, names)
    return {"expr": f"{ast.unparse(node)}()"}


def _metadata_choices(metadata: ast.expr | None, annotation: ast.expr) -> tuple[Any, ...]:
    if isinstance(metadata, ast.Dict):
        for key, item in zip(metadata.keys, metadata.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "choices":
                found = _constant(item, {})
                return tuple(found) if isinstance(found, list) else ()
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and called(node.value) == "Literal":
            literal = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            found = _all([_constant(item, {}) for item in literal])
            return tuple(found) if isinstance(found, list) else ()
    return ()


def type_name(annotation: ast.expr) -> str:
    """The plain types an annotation allows, e.g. "dict|str"; "" when it names none."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    return "|".join(sorted(set(_types(annotation))))


def _types(annotation: ast.expr) -> Iterator[str]:
    match annotation:
        case ast.Name(id=name):
            if name.lower() in _NAMES:
                yield name.lower()
        case ast.BinOp(left=left, right=right):
            yield from _types(left)
            yield from _types(right)
        case ast.Subscript(value=container, slice=inner):
            if called(container) in ("Optional", "Union"):
                for item in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                    yield from _types(item)
            elif called(container) == "Literal":
                items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                yield from (type(item.value).__name__ for item in items if _is_plain(item))
            else:
                yield from _types(container)
        case ast.Attribute(attr=name) if name.lower() in _NAMES:
            yield name.lower()


def _is_plain(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and type(node.value).__name__ in _NAMES


# -- argparse ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]  # without dashes, the long ones
    field: Field
    group: str = ""  # the variable whose add_argument was called
    short: tuple[str, ...] = ()  # names with one dash


def option(call: ast.Call, names: Mapping[str, Any] | None = None) -> Option | None:
    """One `add_argument` call with at least one long option; None for positionals."""
    known = names or {}
    flags = [flag for flag in (text(argument, known) for argument in call.args) if flag]
    long = tuple(flag.removeprefix("--") for flag in flags if flag.startswith("--"))
    short = tuple(flag[1:] for flag in flags if flag.startswith("-") and not flag.startswith("--"))
    if not long:
        return None
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    default: Any = value(given["default"], known) if "default" in given else None
    kind = ast.unparse(given["type"]) if "type" in given else ""
    match given.get("action"):
        case ast.Constant(value="store_true"):
            default, kind = (False if "default" not in given else default), "bool"
        case ast.Constant(value="store_false"):
            default, kind = (True if "default" not in given else default), "bool"
    if isinstance(required := given.get("required"), ast.Constant) and required.value is True:
        default = REQUIRED
    choices = value(given["choices"], known) if "choices" in given else []
    field = Field(default, kind if kind in _NAMES else "", tuple(choices) if isinstance(choices, list) else ())
    return Option(long, field, short=short)


def text(node: ast.expr, names: Mapping[str, Any]) -> str:
    """The text of a string or an f-string whose names are known; "" otherwise."""
    if isinstance(node, ast.JoinedStr):
        parts = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            parts.append(_constant(inner, names))
        return "".join(parts) if all(isinstance(part, str) for part in parts) else ""
    found = _constant(node, names)
    return found if isinstance(found, str) else ""


def options(body: Sequence[ast.stmt], names: Mapping[str, Any] | None = None) -> Iterator[Option]:
    """The options of all `add_argument` calls; a loop over literal names is unrolled."""
    known = dict(names or {})
    for node in body:
        match node:
            case ast.For(target=ast.Name(id=variable), iter=items) if (
                found := _constant(items, known)
            ) is not _UNKNOWN:
                for item in found:
                    yield from options(node.body, {**known, variable: item})
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=group), attr="add_argument")) as call):
                if (made := option(call, known)) is not None:
                    yield replace(made, group=group)
            case ast.Assign(targets=[ast.Name(id=variable)], value=assigned):
                if (constant := _constant(assigned, known)) is not _UNKNOWN:
                    known[variable] = constant
            case ast.If() | ast.FunctionDef() | ast.With() | ast.Try() | ast.For():
                yield from options([*node.body, *getattr(node, "orelse", [])], known)
