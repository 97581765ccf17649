#!/usr/bin/env python3
"""Regenerates knowledge/frameworks/<name>/keys.json: configuration keys and their defaults, per released version.

The releases come from the package index that pip is configured with. Archives are unpacked, never built, and nothing
in them is imported: YAML is loaded as data, Python is read with `ast`. Only final releases are read.

  python scripts/extract_keys.py trl verl             read every release since the first supported one
  python scripts/extract_keys.py --all
  python scripts/extract_keys.py trl --latest-only    keep what is stored, read only releases newer than it

Two runs over the same releases with the same --checked date write the same bytes.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import sys
from pathlib import Path
from types import ModuleType

from extract import history
from extract.releases import releases, sources

from grpo_guard.store.versions import parse

FRAMEWORKS = ("verl", "trl", "transformers", "deepspeed", "openrlhf", "accelerate")
KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge" / "frameworks"
SOURCE = "releases on the package index, unpacked and read as text (YAML, ast)"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", nargs="*", choices=[[], *FRAMEWORKS], help="one or more of the frameworks")
    parser.add_argument("--all", action="store_true", help="all frameworks")
    parser.add_argument("--latest-only", action="store_true", help="read only releases that are not stored yet")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "grpo-guard-keys", help="unpacked files")
    parser.add_argument("--checked", default=datetime.date.today().isoformat(), help="date to record (default: today)")
    arguments = parser.parse_args(argv)
    names = list(FRAMEWORKS) if arguments.all else arguments.framework
    if not names:
        parser.error("name a framework or use --all")
    for name in names:
        extract(name, arguments.cache, arguments.checked, arguments.latest_only)
    return 0


def extract(name: str, cache: Path, checked: str, latest_only: bool) -> None:
    reader = importlib.import_module(f"extract.{name}")
    path = KNOWLEDGE / name / "keys.json"
    stored = history.decode(history.read(path)) if latest_only and path.is_file() else []
    since = stored[-1].version if stored else reader.SINCE
    snapshots = list(stored)
    for release in releases(reader.PACKAGE, since):
        if not stored or parse(release.version) > parse(since):
            snapshots.append(reader.read(release.version, sources(release, reader.WANTED, cache)))
    text = history.dump(describe(reader, snapshots, checked))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{name}: {len(snapshots)} versions to {snapshots[-1].version}, {len(text.encode()):,} bytes")


def describe(reader: ModuleType, snapshots: list[history.Snapshot], checked: str) -> dict[str, object]:
    head = {"package": reader.PACKAGE, "checked": checked, "source": SOURCE}
    flags = {name: True for name in ("strict", "abbreviations") if getattr(reader, name.upper(), False)}
    return {**head, **flags, **history.encode(snapshots, reader.BASE), "open": reader.OPEN}


if __name__ == "__main__":
    sys.exit(main())
