"""Conditions of rules and bugs: one readable line over canonical fields, evaluated with Kleene logic.

    zero_stage in [1, 2] and overlap_comm and torch_compile

`parse` turns the text into nested lists (plain JSON, so that the compiled index can carry them) by way of `ast`,
accepting a closed set of comparisons, boolean and arithmetic operators and a few functions. `evaluate` never
guesses: what the run does not decide is an `Unknown` that names the fields which would decide it.

Names are canonical fields; `env.NAME` is an environment variable of the launch (null when the script does not set
it); `null`, `true` and `false` are the constants. Ordering comparisons with null are false, with a value of another
type unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Node = list[Any]

_CONSTANTS = {"null": None, "none": None, "true": True, "false": False, "inf": float("inf")}
# name -> number of arguments; the first argument of the first group is a field, not a value
_FIELD_FUNCTIONS = {"explicit": 1, "known": 1}
_VALUE_FUNCTIONS = {"contains": 2, "lower": 1, "length": 1, "startswith": 2, "number": 1}


class ExpressionError(ValueError):
    """The condition uses something outside the closed language; the text names it."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Undecided: `needs` are the fields (or env.NAME) whose values would decide it."""

    needs: frozenset[str] = frozenset()


class Scope(Protocol):
    """What an expression may ask of a run."""

    def field_value(self, name: str) -> Any:
        """Value of a canonical field, or `Unknown`."""

    def env_value(self, name: str) -> Any:
        """Value of an environment variable as text, None when unset, or `Unknown`."""

    def is_explicit(self, name: str) -> bool:
        """Whether the user wrote the field."""

    def is_known(self, name: str) -> bool:
        """Whether the framework has the field at this version and its value is decided."""


def parse(text: str) -> Node:
    """Parse a condition. Raises ExpressionError for anything outside the language."""
    import ast

    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"{text!r} is not an expression: {error}") from None
    return _convert(tree.body)


def _convert(node: Any) -> Node:
    import ast

    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
            return ["const", value]
        case ast.Name(id=name):
            return ["const", _CONSTANTS[name]] if name in _CONSTANTS else ["field", name]
        case ast.Attribute(value=ast.Name(id="env"), attr=name):
            return ["env", name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return ["list", *map(_convert, items)]
        case ast.BoolOp(op=op, values=values):
            return ["and" if isinstance(op, ast.And) else "or", *map(_convert, values)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ["not", _convert(operand)]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return ["const", -value]
        case ast.BinOp(left=left, op=op, right=right) if type(op).__name__ in _ARITHMETIC:
            return ["arith", type(op).__name__, _convert(left), _convert(right)]
        case ast.Compare(left=left, ops=ops, comparators=rights):
            operands = [left, *rights]
            tests = [
                ["cmp", _comparison(op), _convert(a), _convert(b)]
                for op, a, b in zip(ops, operands, operands[1:], strict=False)
            ]
            return tests[0] if len(tests) == 1 else ["and", *tests]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _convert_call(name, args)
    raise ExpressionError(f"{ast.unparse(node)!r} is not part of the condition language")


def _comparison(op: Any) -> str:
    name = type(op).__name__
    if name not in _COMPARISONS:
        raise ExpressionError(f"comparison {name} is not part of the condition language")
    return name


def _convert_call(name: str, args: list[Any]) -> Node:
    import ast

    arity = _FIELD_FUNCTIONS.get(name, _VALUE_FUNCTIONS.get(name))
    if arity is None or len(args) != arity:
        known = ", ".join(sorted(_FIELD_FUNCTIONS | _VALUE_FUNCTIONS))
        raise ExpressionError(f"no function {name} with {len(args)} argument(s); there are {known}")
    if name in _FIELD_FUNCTIONS:
        if not isinstance(args[0], ast.Name):
            raise ExpressionError(f"{name}() takes the name of a field")
        return [name, args[0].id]
    return ["call", name, *map(_convert, args)]


def fields_of(node: Node) -> set[str]:
    """The canonical fields that an expression reads (environment variables not included)."""
    if node[0] in ("field", *_FIELD_FUNCTIONS):
        return {node[1]}
    return set().union(*(fields_of(child) for child in node[1:] if isinstance(child, list)), set())


def evaluate(node: Node, scope: Scope) -> Any:
    """Value of an expression: a Python value or `Unknown`."""
    kind = node[0]
    if kind == "const":
        return node[1]
    if kind == "field":
        return scope.field_value(node[1])
    if kind == "env":
        return scope.env_value(node[1])
    if kind == "explicit":
        return scope.is_explicit(node[1])
    if kind == "known":
        return scope.is_known(node[1])
    if kind in ("and", "or"):
        return _connect(kind == "or", node[1:], scope)
    values = [evaluate(child, scope) for child in node[1:] if isinstance(child, list)]
    needs = frozenset().union(*(value.needs for value in values if isinstance(value, Unknown)))
    if needs or any(isinstance(value, Unknown) for value in values):
        return Unknown(needs)
    try:
        return _apply(kind, node, values)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return Unknown(frozenset(fields_of(node)))


def _connect(is_or: bool, children: list[Node], scope: Scope) -> Any:
    """Kleene and/or: one deciding operand decides, whatever is unknown beside it."""
    needs: frozenset[str] = frozenset()
    unknown = False
    for child in children:
        value = evaluate(child, scope)
        if isinstance(value, Unknown):
            unknown = True
            needs |= value.needs
        elif bool(value) is is_or:
            return is_or
    return Unknown(needs) if unknown else not is_or


def _apply(kind: str, node: Node, values: list[Any]) -> Any:
    if kind == "list":
        return values
    if kind == "not":
        return not values[0]
    if kind == "cmp":
        return _COMPARISONS[node[1]](values[0], values[1])
    if kind == "arith":
        return _ARITHMETIC[node[1]](values[0], values[1])
    if kind == "call":
        return _CALLS[node[1]](*values)
    raise ExpressionError(f"unknown node {kind!r}")


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(a: Any, b: Any) -> bool:
        return a is not None and b is not None and test(a, b)

    return compare


def _equal(a: Any, b: Any) -> bool:
    # True == 1 in Python; a switch is not a number here
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _contains(value: Any, part: Any) -> bool:
    return value is not None and part in (value if isinstance(value, str | list | tuple) else str(value))


def _times(a: Any, b: Any) -> Any:
    """The product of two numbers; a text or list times a number would be a long repetition."""
    if not all(isinstance(value, int | float) for value in (a, b)):
        raise TypeError
    return a * b


def _number(value: Any) -> float:
    if isinstance(value, bool) or value is None:
        raise TypeError
    return float(value)


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": _equal,
    "NotEq": lambda a, b: not _equal(a, b),
    "Is": _equal,
    "IsNot": lambda a, b: not _equal(a, b),
    "Lt": _ordered(lambda a, b: a < b),
    "LtE": _ordered(lambda a, b: a <= b),
    "Gt": _ordered(lambda a, b: a > b),
    "GtE": _ordered(lambda a, b: a >= b),
    "In": lambda a, b: any(_equal(a, item) for item in b) if isinstance(b, list) else a in b,
    "NotIn": lambda a, b: not any(_equal(a, item) for item in b) if isinstance(b, list) else a not in b,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mult": lambda a, b: _times(a, b),
    "Div": lambda a, b: a / b,
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "contains": _contains,
    "lower": lambda value: str(value).lower() if value is not None else None,
    "length": len,
    "startswith": lambda value, part: value is not None and str(value).startswith(part),
    "number": _number,
}


_SYMBOLS = {
    "Eq": "==", "NotEq": "!=", "Is": "==", "IsNot": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "In": "in",
    "NotIn": "not in", "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%",
}  # fmt: skip


def to_text(node: Node) -> str:
    """An expression as the readable line it was compiled from (parentheses where they matter)."""
    kind = node[0]
    if kind == "const":
        return {"None": "null", "True": "true", "False": "false"}.get(repr(node[1]), repr(node[1]))
    if kind == "field":
        return str(node[1])
    if kind == "env":
        return f"env.{node[1]}"
    if kind in _FIELD_FUNCTIONS:
        return f"{kind}({node[1]})"
    if kind == "call":
        return f"{node[1]}({', '.join(map(to_text, node[2:]))})"
    if kind == "list":
        return f"[{', '.join(map(to_text, node[1:]))}]"
    if kind == "not":
        return f"not {_wrapped(node[1])}"
    if kind in ("cmp", "arith"):
        return f"{_wrapped(node[2])} {_SYMBOLS[node[1]]} {_wrapped(node[3])}"
    return f" {kind} ".join(_wrapped(child) if child[0] in ("and", "or") else to_text(child) for child in node[1:])


def _wrapped(node: Node) -> str:
    text = to_text(node)
    return f"({text})" if node[0] in ("and", "or", "cmp", "arith") else text
