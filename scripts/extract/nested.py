"""Configurations that are classes inside classes (dataclasses, pydantic models, typed dictionaries), as flat keys."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .source import Field, called, class_fields, value

MAX_LEVELS = 8
_CONTAINERS = {"list", "tuple", "dict", "List", "Tuple", "Dict"}


def nested_fields(
    name: str,
    known: Mapping[str, ast.ClassDef],
    prefix: str = "",
    names: Mapping[str, Any] | None = None,
    level: int = 0,
) -> dict[str, Field]:
    """The fields of a class under dotted keys, those of the classes in their annotations included.

    A field of a class that is null by default keeps an entry of its own beside the keys below it. What a factory
    passes to the class (`lambda: Optimizer(lr=1e-5)`) takes the place of the class's own default.
    """
    found: dict[str, Field] = {}
    for key, field in class_fields(name, known, names).items():
        inner = [other for other in field.classes if other in known and not _is_enum(known[other])]
        if not inner or level >= MAX_LEVELS or _CONTAINERS & set(field.classes):
            found[prefix + key] = field
            continue
        if field.default is None:
            found[prefix + key] = replace(field, type="", choices=())
        for other in inner:
            found.update(nested_fields(other, known, f"{prefix}{key}.", names, level + 1))
        for argument, given in _passed(field.default).items():
            if (place := f"{prefix}{key}.{argument}") in found:
                found[place] = replace(found[place], default=value(given, names))
    return found


def _is_enum(node: ast.ClassDef) -> bool:
    return any("Enum" in ast.unparse(base) for base in node.bases)


def _passed(default: Any) -> dict[str, ast.expr]:
    """Keyword arguments of a default that is a call of a class."""
    text = default.get("expr", "") if isinstance(default, dict) else ""
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, TypeError):
        return {}
    if not isinstance(call, ast.Call) or not called(call.func)[:1].isupper():
        return {}
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
