"""OmegaConf interpolation: `${a.b}`, `${.x}`, `${oc.select:a,default}`, decided by the document alone.

Nothing outside the document is looked at: the environment, clocks and custom resolvers stay unresolved.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..limits import MAX_DEPTH, MAX_NODES, MAX_SHELL_VALUE_CHARS
from .values import InputError, Unresolved
from .yaml_text import parse_value

MISSING = "???"  # OmegaConf's mark for a value that must be given


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every outermost `${...}` (braces inside are matched); `\\${` is text."""
    at = text.find("${")
    while at >= 0:
        depth, end = 0, at
        while end < len(text):
            if text.startswith("${", end):
                depth += 1
                end += 2
                continue
            if text[end] == "}":
                depth -= 1
                if depth == 0:
                    break
            end += 1
        if end >= len(text):
            return
        if at == 0 or text[at - 1] != "\\":
            yield at, end + 1
        at = text.find("${", end + 1)


Resolvers = Mapping[str, Callable[..., Any]]

# What NeMo-RL registers for its own configs (nemo_rl/utils/config.py).
NEMO_RL_RESOLVERS: Resolvers = {"mul": operator.mul, "div": operator.truediv, "max": max}


def interpolate(tree: Any, resolvers: Resolvers | None = None) -> Any:
    """A copy of the tree with every `${...}` that the tree itself decides put in.

    In: plain data (mappings, lists, scalars, `Unresolved`), and resolvers that the framework registers, as pure
    functions of numbers. Out: the same shape; `${a.b}`, `${.x}`, `${a[0]}` and `${oc.select:a,default}` are replaced,
    whole-value ones keep the type. What the tree does not decide stays `Unresolved`: other resolvers (`oc.env`,
    `now`), missing keys, `???`, cycles, and results that would grow beyond the caps. Nothing is raised.
    """
    return _Interpolation(tree, resolvers or {}).run()


class _Interpolation:
    def __init__(self, tree: Any, resolvers: Resolvers) -> None:
        self.tree = tree
        self.resolvers = resolvers
        self.done: dict[tuple[str, ...], Any] = {}
        self.open: set[tuple[str, ...]] = set()
        self.nodes = 0
        self.depth = 0  # levels of containers and references below each other

    def run(self) -> Any:
        return self._resolve(self.tree, ())

    def _resolve(self, value: Any, path: tuple[str, ...]) -> Any:
        """The value at `path`, resolved; containers are walked, texts are looked up."""
        self.nodes += 1
        if isinstance(value, dict | list):
            return self._container(value, path)
        if isinstance(value, Unresolved):
            return self._at(path, value.text) if _only_interpolations(value) else value
        if isinstance(value, str) and (value == MISSING or "${" in value):
            return self._at(path, value)
        return value

    def _container(self, value: dict[Any, Any] | list[Any], path: tuple[str, ...]) -> Any:
        if self.depth >= _MAX_LEVELS:
            return Unresolved("...", (".".join(path),))
        self.depth += 1
        try:
            if isinstance(value, dict):
                return {key: self._resolve(child, (*path, str(key))) for key, child in value.items()}
            return [self._resolve(child, (*path, str(index))) for index, child in enumerate(value)]
        finally:
            self.depth -= 1

    def _at(self, path: tuple[str, ...], text: str) -> Any:
        if text == MISSING:
            return Unresolved(MISSING, (".".join(path),))
        if path in self.done:
            return self.done[path]
        if path in self.open or self.depth >= _MAX_LEVELS:
            return Unresolved(text, tuple(text[start:end] for start, end in spans(text)))
        self.open.add(path)
        self.depth += 1
        result = self._text(text, path)
        self.depth -= 1
        self.open.discard(path)
        self.done[path] = result
        return result

    def _text(self, text: str, path: tuple[str, ...]) -> Any:
        found = list(spans(text))
        if not found:
            return _unescaped(text)
        if found == [(0, len(text))]:
            return self._expression(text, path)
        parts: list[str] = []
        unknown: list[str] = []
        last = 0
        for start, end in found:
            value = self._expression(text[start:end], path)
            if isinstance(value, Unresolved):
                unknown.extend(value.names)
            parts += (_unescaped(text[last:start]), str(value))
            last = end
        whole = "".join((*parts, _unescaped(text[last:])))
        if len(whole) > MAX_SHELL_VALUE_CHARS:
            return Unresolved(text, tuple(text[start:end] for start, end in found))
        return Unresolved(whole, tuple(dict.fromkeys(unknown))) if unknown else whole

    def _expression(self, expression: str, path: tuple[str, ...]) -> Any:
        inside = expression[2:-1].strip()
        undecided = Unresolved(expression, (expression,))
        if self.nodes > MAX_NODES:
            return undecided
        if "${" in inside:
            if self.depth >= _MAX_LEVELS:
                return undecided
            self.depth += 1
            filled = self._text(inside, path)
            self.depth -= 1
            if not isinstance(filled, str):
                return filled if isinstance(filled, Unresolved) else undecided
            inside = filled
        resolver, colon, arguments = inside.partition(":")
        if not colon:
            found, value = self._look_up(inside, path)
            return value if found else undecided
        if resolver.strip() == "oc.select":
            key, comma, default = arguments.partition(",")
            found, value = self._look_up(key.strip(), path)
            if found and value is not None:
                return value
            return _yaml_or_text(default.strip()) if comma else None
        function = self.resolvers.get(resolver.strip())
        values = [_yaml_or_text(argument.strip()) for argument in arguments.split(",")]
        if function is None or not all(isinstance(value, int | float) for value in values):
            return undecided
        try:
            return function(*values)
        except (TypeError, ValueError, ArithmeticError):
            return undecided

    def _look_up(self, key: str, path: tuple[str, ...]) -> tuple[bool, Any]:
        """Whether the key exists, and its resolved value. Leading dots count from the mapping that holds `path`."""
        if not _REFERENCE.fullmatch(key):
            return False, None
        name = key.lstrip(".")
        dots = len(key) - len(name)
        base = path[: len(path) - dots] if dots else ()
        if dots > len(path):
            return False, None
        value: Any = self.tree
        target = (*base, *(part for part in name.replace("[", ".").replace("]", "").split(".") if part))
        for index, part in enumerate(target):
            if isinstance(value, str) and "${" in value:
                value = self._at(target[:index], value)  # the path leads through a node that is itself a reference
            if isinstance(value, dict):
                if part not in value:
                    return False, None
                value = value[part]
            elif isinstance(value, list) and part.isdigit() and len(part) < 7 and int(part) < len(value):
                value = value[int(part)]
            else:
                return False, None
        if isinstance(value, dict | list) and any(target == opened[: len(target)] for opened in self.open):
            return False, None  # a node that contains the reference: endless
        return True, self._resolve(value, target)


_MAX_LEVELS = 2 * MAX_DEPTH
_REFERENCE = re.compile(r"\.*[^\s.\[\]${}:,]+(?:\.[^\s.\[\]${}:,]+|\[[^\s.\[\]${}:,]+\])*")


def _unescaped(text: str) -> str:
    return text.replace("\\${", "${")


def _only_interpolations(value: Unresolved) -> bool:
    """Whether only interpolation keeps the value open (names of shell variables are bare words)."""
    return "${" in value.text and all(name.startswith("${") for name in value.names)


def _yaml_or_text(text: str) -> Any:
    try:
        return parse_value(text)
    except InputError:
        return text
