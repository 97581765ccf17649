"""Python recipes: attribute assignments on a config object (`cfg.train.global_batch_size = 512`) as dotted keys.

Used where a framework's configs are functions that fill a container of dataclasses (Megatron-Bridge). Only literals and
arithmetic on them count as known. Nothing is imported or run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .python_calls import parsed
from .values import Document, Entry, Unresolved

_LEAST = 3  # assignments that make a function a recipe
_MAX_RECIPES = 20
_BRANCH = "a branch of the recipe"
_SECTIONS = (
    "train", "validation", "model", "optimizer", "ddp", "scheduler", "dataset", "logger", "tokenizer", "checkpoint",
    "dist", "rng", "ft", "straggler", "profiling", "peft", "comm_overlap", "mixed_precision", "rerun_state_machine",
    "nvrx_straggler", "inprocess_restart",
)  # fmt: skip


def read_recipes(text: str, path: str) -> list[Document]:
    """One document per function (or module body) that sets at least three keys; `name` is "ConfigContainer".

    Raises InputError for a syntax error and over the caps of the Python reader.
    """
    tree = parsed(text, path)
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found: list[Document] = []
    for body in [*bodies, tree]:
        last = {entry.key: entry for entry in sorted(_entries(body, path), key=lambda entry: entry.line)}
        entries = sorted(last.values(), key=lambda entry: entry.line)  # what is assigned again counts once
        if len(entries) >= _LEAST and len(found) < _MAX_RECIPES:
            found.append(Document(path, "python", entries, name="ConfigContainer"))
    return found


def _entries(body: ast.AST, path: str) -> Iterator[Entry]:
    for node, sure in _own_nodes(body):
        match node:
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                name = _dotted(target)
                found = _assigned(name, value, path, node.lineno) if name.split(".", 1)[0] in _SECTIONS else iter(())
            case ast.Call(func=ast.Name(id="ConfigContainer"), keywords=keywords):
                found = (
                    entry
                    for keyword in keywords
                    if keyword.arg in _SECTIONS
                    for entry in _assigned(str(keyword.arg), keyword.value, path, keyword.value.lineno)
                )
            case _:
                continue
        yield from found if sure else (replace(entry, value=Unresolved(entry.text, (_BRANCH,))) for entry in found)


def _own_nodes(body: ast.AST, sure: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """What a function does itself, without functions inside it, and whether it does so in any case."""
    for child in ast.iter_child_nodes(body):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        yield child, sure
        yield from _own_nodes(child, sure and not isinstance(child, ast.If | ast.For | ast.While | ast.Try | ast.Match))


def _dotted(node: ast.Attribute) -> str:
    """ "train.lr" for `cfg.train.lr`; "" when the object is no plain name."""
    parts = [node.attr]
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    return ".".join(reversed(parts)) if isinstance(inner, ast.Name) else ""


def _assigned(name: str, value: ast.expr, path: str, line: int) -> Iterator[Entry]:
    """The entry of a value; a call of a config class gives one for each keyword."""
    if "." not in name:
        if isinstance(value, ast.Call) and _is_class(value.func):
            for keyword in value.keywords:
                if keyword.arg:
                    yield from _assigned(f"{name}.{keyword.arg}", keyword.value, path, keyword.value.lineno)
        return
    yield Entry(name, _value(value), path, line, text=ast.unparse(value)[:120])


def _is_class(function: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return bool(name[:1].isupper())


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        pass
    if isinstance(node, ast.Attribute) and node.attr in ("bfloat16", "float16", "float32"):
        return node.attr
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _value(node.left), _value(node.right)
        if isinstance(left, int) and isinstance(right, int) and max(abs(left), abs(right)) < 10**9:
            return left * right
    return Unresolved(ast.unparse(node)[:120], (ast.unparse(node)[:60],))
