"""YAML configurations as flat tables: dotted key to default, the way Hydra and OmegaConf read them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .source import REQUIRED


def load(path: Path) -> Any:
    import yaml

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def flat(node: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings; an empty mapping is a leaf, "???" a value that the user must set."""
    if isinstance(node, dict) and node:
        keys: dict[str, Any] = {}
        for key, item in node.items():
            keys.update(flat(item, f"{prefix}.{key}" if prefix else str(key)))
        return keys
    return {prefix: REQUIRED if node == "???" else _number(node)} if prefix else {}


def _number(node: Any) -> Any:
    """OmegaConf reads 1e-6 as a number, YAML 1.1 as text; OmegaConf decides."""
    if isinstance(node, str) and re.fullmatch(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+", node):
        return float(node)
    return node
