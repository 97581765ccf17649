"""What several verbs of the command line take: versions, stated fields, standard input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from .configs.values import InputError

FOCUS = ("all", "nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge")


def standard_input() -> str:
    """The text of standard input. Raises InputError when it is larger than a config is."""
    from .configs.files import decode
    from .limits import MAX_CONFIG_BYTES

    data = sys.stdin.buffer.read(MAX_CONFIG_BYTES + 1)
    if len(data) > MAX_CONFIG_BYTES:
        raise InputError(
            f"standard input is larger than {MAX_CONFIG_BYTES:,} bytes: pass the launch script or config only"
        )
    return decode(data)


def versions(options: argparse.Namespace) -> dict[str, str]:
    """Versions of --requirements, overridden by --version."""
    found: dict[str, str] = {}
    if options.requirements is not None:
        from .configs.files import read_text
        from .configs.requirements import read_versions

        found.update(read_versions(read_text(options.requirements), str(options.requirements)))
    for item in options.version:
        name, equals, value = item.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"--version {item}: write it as PKG=VER, e.g. --version verl=0.8.0")
        found[name.strip().lower()] = value.strip().lstrip("=")
    return found


def fields(items: Sequence[str]) -> dict[str, Any]:
    """Canonical fields of --set."""
    from .configs.parts import scalar

    found: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"--set {item}: write it as FIELD=VALUE, e.g. --set group_size=8")
        found[name.strip()] = None if value == "null" else scalar(value.strip())
    return found
