#!/usr/bin/env python3
"""Regenerates knowledge/frameworks/<name>/keys.json: configuration keys and their defaults, per released version.

The releases come from the package index that pip is configured with. Archives are unpacked, never built, and nothing
in them is imported: YAML is loaded as data, Python is read with `ast`. Only final releases are read. verl needs
hydra-core beside this project's development packages.

  python scripts/extract_keys.py trl verl             read every release since the first supported one
  python scripts/extract_keys.py --all
  python scripts/extract_keys.py trl --latest-only    keep what is stored, read only releases newer than it
  python scripts/extract_keys.py rllm --git CLONE     read the revisions listed in extract/rllm.py from a git clone
  python scripts/extract_keys.py trl --stored         keep what is stored, take over the curated YAML files beside it

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
from extract.releases import releases, revision, sources, submodule

from grpo_guard.store.versions import parse

FRAMEWORKS = (
    "verl", "trl", "transformers", "deepspeed", "openrlhf", "accelerate", "vllm", "sglang", "vllm_ascend", "ms-swift",
    "llama-factory", "axolotl",
)  # fmt: skip
# not, or not all, on the index
FROM_GIT = (
    "easyr1", "rllm", "mindie", "nemo_rl", "skyrl", "skyrl_train", "areal", "megatron", "megatron-bridge", "slime",
)  # fmt: skip
KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge" / "frameworks"
SOURCE = "releases on the package index, unpacked and read as text (YAML, ast)"
GIT_SOURCE = "tags and commits of the public repository, read as text (YAML, ast)"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*FRAMEWORKS, *FROM_GIT)
    parser.add_argument("framework", nargs="*", metavar="NAME", help=f"one or more of {', '.join(names)}")
    parser.add_argument("--all", action="store_true", help="all frameworks on the index")
    parser.add_argument("--latest-only", action="store_true", help="read only releases that are not stored yet")
    parser.add_argument("--stored", action="store_true", help="read no release, only the curated YAML files (offline)")
    parser.add_argument("--git", type=Path, help="clone to read one of the others from (bare or not)")
    parser.add_argument("--beside", type=Path, help="megatron-bridge: a clone of Megatron-LM, whose classes it extends")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "grpo-guard-keys", help="unpacked files")
    parser.add_argument("--checked", default=datetime.date.today().isoformat(), help="date to record (default: today)")
    arguments = parser.parse_args(argv)
    asked = list(FRAMEWORKS) if arguments.all else arguments.framework
    if not asked or not set(asked) <= set(names):
        parser.error(f"name one or more of {', '.join(names)}, or use --all")
    for name in asked:
        if arguments.stored:
            refresh(name)
        elif name in FROM_GIT:
            if arguments.git is None:
                parser.error(f"{name} needs --git CLONE")
            extract_revisions(name, arguments.git, arguments.beside, arguments.cache, arguments.checked)
        else:
            extract(name, arguments.cache, arguments.checked, arguments.latest_only)
    return 0


def _reader(name: str) -> ModuleType:
    return importlib.import_module(f"extract.{_module(name)}")


def _folder(name: str) -> Path:
    return KNOWLEDGE / _module(name)


def _module(name: str) -> str:
    return name.replace("-", "_")


def refresh(name: str) -> None:
    """Writes keys.json again from what it holds and the curated files beside it."""
    path = _folder(name) / "keys.json"
    path.write_text(rebuilt(name), encoding="utf-8")
    print(f"{name}: renames and derived defaults taken over")


def rebuilt(name: str) -> str:
    """The text of keys.json made from its own content and the curated files; equal to the file when all is in step."""
    path = _folder(name) / "keys.json"
    stored = history.read(path)
    reader = _reader(name)
    return history.dump(describe(reader, history.decode(stored), stored["checked"], path.parent))


def extract(name: str, cache: Path, checked: str, latest_only: bool) -> None:
    reader = _reader(name)
    path = _folder(name) / "keys.json"
    stored = history.decode(history.read(path)) if latest_only and path.is_file() else []
    since = stored[-1].version if stored else reader.SINCE
    snapshots = list(stored)
    sdist, candidates = (getattr(reader, name, False) for name in ("SDIST", "CANDIDATES"))
    for release in releases(reader.PACKAGE, since, sdist, candidates):
        if not stored or parse(release.version) > parse(since):
            snapshots.append(reader.read(release.version, sources(release, reader.WANTED, cache)))
    write(name, reader, snapshots, checked)


def extract_revisions(name: str, clone: Path, beside: Path | None, cache: Path, checked: str) -> None:
    reader = _reader(name)
    snapshots = []
    for version, commit in reader.REVISIONS.items():
        folders = [revision(clone, commit, reader.WANTED, cache)]
        if hasattr(reader, "SUBMODULE"):
            if beside is None:
                raise SystemExit(f"{name} needs --beside CLONE of its submodule {reader.SUBMODULE}")
            folders.append(revision(beside, submodule(clone, commit, reader.SUBMODULE), reader.BESIDE, cache))
        snapshots.append(reader.read(version, *folders))
    write(name, reader, snapshots, checked)


def write(name: str, reader: ModuleType, snapshots: list[history.Snapshot], checked: str) -> None:
    path = _folder(name) / "keys.json"
    text = history.dump(describe(reader, snapshots, checked, path.parent))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{name}: {len(snapshots)} versions to {snapshots[-1].version}, {len(text.encode()):,} bytes")


def describe(reader: ModuleType, snapshots: list[history.Snapshot], checked: str, folder: Path) -> dict[str, object]:
    """The content of keys.json: what was read, and the curated files of the folder so that a reader needs no YAML."""
    head: dict[str, object] = {"package": reader.PACKAGE, "checked": checked, "source": SOURCE}
    if hasattr(reader, "REVISIONS"):
        head |= {"source": GIT_SOURCE, "repository": reader.REPOSITORY, "revisions": reader.REVISIONS}
    flags = {name: True for name in ("strict", "abbreviations") if getattr(reader, name.upper(), False)}
    encoded = history.encode(snapshots, reader.BASE)
    return {**head, **flags, **encoded, "open": reader.OPEN, "renames": renames(folder), "derived": derived(folder)}


def renames(folder: Path) -> list[dict[str, object]]:
    """Entries of renames.yaml; `new` is always a list."""
    entries = _curated(folder / "renames.yaml", "renames")
    return [{**entry, "new": entry["new"] if isinstance(entry["new"], list) else [entry["new"]]} for entry in entries]


def derived(folder: Path) -> dict[str, list[dict[str, object]]]:
    """Entries of derived_defaults.yaml by key, without their sources."""
    by_key: dict[str, list[dict[str, object]]] = {}
    for entry in _curated(folder / "derived_defaults.yaml", "defaults"):
        kept = {name: item for name, item in entry.items() if name not in ("key", "source")}
        by_key.setdefault(str(entry["key"]), []).append(kept)
    return by_key


def _curated(path: Path, name: str) -> list[dict[str, object]]:
    import yaml

    return list(yaml.safe_load(path.read_text(encoding="utf-8"))[name]) if path.is_file() else []


if __name__ == "__main__":
    sys.exit(main())
