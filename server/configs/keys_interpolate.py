"""OmegaConf interpolations inside defaults: "${a.b}", "${.sibling}", "${..uncle}", "${oc.select:a.b,default}"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .values import Unresolved

_MAX_REFERENCES = 200  # followed for one value; real configs need five. Cycles and doubling texts end here
_MAX_CHARS = 10_000
_INNER = re.compile(r"\$\{((?:[^${}]|\{\})*)\}")  # an innermost reference; "{}" may be the fallback of oc.select
_SELECT = "oc.select:"


def resolve(key: str, value: Any, overrides: Mapping[str, Any], default: Callable[[str], Any]) -> Any:
    """`value`, standing at `key`, with its references followed.

    overrides: what the user set, by full key; these win over `default(full key)`. A reference to something without a
    value, an environment variable or another resolver makes the result `Unresolved`, and so does a cycle.
    """
    return _Resolution(overrides, default).value(key, value)


class _Resolution:
    def __init__(self, overrides: Mapping[str, Any], default: Callable[[str], Any]) -> None:
        self._overrides = overrides
        self._default = default
        self._references = 0

    def value(self, key: str, value: Any) -> Any:
        while isinstance(value, str) and "${" in value:
            if self._references >= _MAX_REFERENCES or len(value) > _MAX_CHARS:
                return Unresolved(value[:_MAX_CHARS])
            if whole := _INNER.fullmatch(value):
                return self._reference(key, whole[1])
            replaced, unknown = self._replaced(key, value)
            if unknown or replaced == value:
                return Unresolved(replaced, tuple(unknown))
            value = replaced
        return value

    def _replaced(self, key: str, text: str) -> tuple[str, list[str]]:
        """The text with its innermost references filled in, and those that have no value."""
        unknown: list[str] = []

        def fill(match: re.Match[str]) -> str:
            found = self._reference(key, match[1])
            if isinstance(found, Unresolved):
                unknown.append(match[1])
                return match[0]
            return str(found)

        return _INNER.sub(fill, text), unknown

    def _reference(self, key: str, inner: str) -> Any:
        self._references += 1
        inner = inner.strip()
        if inner.startswith(_SELECT):
            path, _, fallback = inner.removeprefix(_SELECT).partition(",")
            found = self._at(_absolute(key, path.strip()))
            return found if _is_set(found) else _literal(fallback.strip())
        found = self._at(_absolute(key, inner)) if ":" not in inner else None
        if ":" in inner or not _is_set(found):
            return Unresolved("${" + inner + "}", (inner,))
        return found

    def _at(self, path: str) -> Any:
        return self.value(path, self._overrides[path] if path in self._overrides else self._default(path))


def _is_set(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, list, dict, Unresolved))


def _absolute(key: str, path: str) -> str:
    """A relative path (leading dots) seen from the key; one dot is the section that the key stands in."""
    dots = len(path) - len(path.lstrip("."))
    if not dots:
        return path
    parents = key.split(".")[:-dots]
    return ".".join([*parents, path[dots:]])


def _literal(text: str) -> Any:
    """The fallback of oc.select; without one it is null."""
    words: dict[str, Any] = {"": None, "null": None, "true": True, "false": False, "{}": {}, "[]": []}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[-+]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?", text):
        return float(text)
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.startswith("[") and text.endswith("]") and not set(text[1:-1]) & set("[]{}"):
        return [_literal(item.strip()) for item in text[1:-1].split(",")]
    return text
