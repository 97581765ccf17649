"""Where the data folders lie: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

PROJECT_FILE = ".grpo-guard.yaml"  # what a project states for all its runs; server/project_file.py reads it


def data_dir(name: str) -> Path:
    """The folder "knowledge" or "skills". Raises FileNotFoundError when the installation is incomplete."""
    package = Path(__file__).resolve().parent
    for folder in (package / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"no {name!r} folder in the package or beside it")
