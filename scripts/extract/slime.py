"""slime (read from a git clone): its own options, and the defaults of Megatron options that it sets anew.

Megatron's own options belong below (`megatron/keys.json`, table `arguments`); slime builds a commit of its own choice
with a patch, so `patched` holds the options that the patch adds. `--sglang-*` and `--router-*` go to SGLang's parsers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .history import Snapshot
from .megatron import Flag, flag
from .source import Field, called, class_fields, classes, tree

PACKAGE = "slime"
REPOSITORY = "https://github.com/THUDM/slime"
# The last one is the main branch of 2026-08-21
REVISIONS = {
    **{
        version: f"v{version}"
        for version in ("0.1.0", "0.2.0", "0.2.0.post1", "0.2.1", "0.2.2", "0.2.3", "0.2.4", "0.3.0", "0.3.1")
    },
    "0.3.2.dev20260821": "624b824a898ab0ec1fcb4d373004c7f3852bf515",
}
WANTED = re.compile(
    r"slime/utils/arguments\.py|slime/backends/(?:sglang|fsdp|megatron)_utils/arguments\.py|train\w*\.py"
    r"|slime/router/router\.py|docker/patch/latest/megatron\.patch"
)
BASE = ""
OPEN: dict[str, list[str]] = {}
TABLE = "arguments"
_ADDED = re.compile(r"^\+.*[\"']--([a-z][\w-]+)[\"']", re.MULTILINE)
_FIELD = re.compile(r"^\+    ([a-z]\w+): (?:bool|int|float|str|Optional)\b", re.MULTILINE)


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    for file in ("slime/utils/arguments.py", "slime/backends/sglang_utils/arguments.py"):
        for made in _flags(tree(folder / file)):
            key, *others = made.names
            snapshot.add(TABLE, {key: made.field})
            snapshot.aliases.setdefault(TABLE, {}).update(dict.fromkeys(others, key))
    fsdp = folder / "slime/backends/fsdp_utils/arguments.py"
    if fsdp.is_file():
        fields = class_fields("FSDPArgs", classes([fsdp]))
        snapshot.add("fsdp", {name.replace("_", "-"): field for name, field in fields.items()})
    patch = folder / "docker/patch/latest/megatron.patch"
    if patch.is_file():
        names = sorted(set(_patched(patch.read_text(encoding="utf-8"))))
        snapshot.add("patched", {name: Field({"expr": "slime's patch of Megatron"}) for name in names})
    return snapshot


def _patched(patch: str) -> Iterator[str]:
    """Options that the patch adds: by `add_argument`, or as a field of TransformerConfig, of which flags are made."""
    for part in patch.split("\ndiff --git ")[1:]:
        file = part.split("\n", 1)[0]
        if file.endswith("training/arguments.py"):
            yield from _ADDED.findall(part)
        elif file.endswith("transformer/transformer_config.py"):
            yield from (name.replace("_", "-") for name in _FIELD.findall(part))


def _flags(module: ast.Module) -> Iterator[Flag]:
    """`add_argument` calls and `reset_arg(parser, "--name", ...)`, which sets the default of an option anew."""
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and (called(call.func) in ("add_argument", "reset_arg")):
            yield from flag(call, {})
