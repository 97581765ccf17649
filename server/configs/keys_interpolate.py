"""OmegaConf interpolations inside defaults: "${a.b}", "${.sibling}", "${..uncle}", "${oc.select:a.b,default}"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .values import Unresolved

_MAX_HOPS = 30  # longest chain of references; real configs have five
_INNER = re.compile(r"\$\{((?:[^${}]|\{\})*)\}")  # an innermost reference; "{}" may be the fallback of oc.select
_SELECT = "oc.select:"


def resolve(key: str, value: Any, overrides: Mapping[str, Any], default: Callable[[str], Any]) -> Any:
    """`value`, standing at `key`, with its references followed.

    overrides: what the user set, by full key; these win over `default(full key)`. A reference to something without a
    value, an environment variable or another resolver makes the result `Unresolved`.
    """
    return _resolve(key, value, overrides, default, 0)


def _resolve(key: str, value: Any, overrides: Mapping[str, Any], default: Callable[[str], Any], hops: int) -> Any:
    if not isinstance(value, str) or "${" not in value:
        return value
    if hops > _MAX_HOPS:
        return Unresolved(value)
    whole = _INNER.fullmatch(value)
    if whole:
        return _reference(key, whole[1], overrides, default, hops)
    unknown: list[str] = []

    def text(match: re.Match[str]) -> str:
        found = _reference(key, match[1], overrides, default, hops)
        if isinstance(found, Unresolved):
            unknown.append(match[1])
            return match[0]
        return str(found)

    replaced = _INNER.sub(text, value)
    if unknown:
        return Unresolved(replaced, tuple(unknown))
    return _resolve(key, replaced, overrides, default, hops + 1) if replaced != value else Unresolved(value)


def _reference(key: str, inner: str, overrides: Mapping[str, Any], default: Callable[[str], Any], hops: int) -> Any:
    inner = inner.strip()
    if inner.startswith(_SELECT):
        path, _, fallback = inner.removeprefix(_SELECT).partition(",")
        found = _value_at(_absolute(key, path.strip()), overrides, default, hops)
        return found if _is_set(found) else _literal(fallback.strip())
    if ":" in inner:
        return Unresolved("${" + inner + "}", (inner,))
    found = _value_at(_absolute(key, inner), overrides, default, hops)
    return found if _is_set(found) else Unresolved("${" + inner + "}", (inner,))


def _value_at(path: str, overrides: Mapping[str, Any], default: Callable[[str], Any], hops: int) -> Any:
    value = overrides[path] if path in overrides else default(path)
    return _resolve(path, value, overrides, default, hops + 1)


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
