"""transformers: the fields of TrainingArguments."""

from __future__ import annotations

import re
from pathlib import Path

from .history import Snapshot
from .source import class_fields, classes

PACKAGE = "transformers"
SINCE = "4.45.0"
WANTED = re.compile(r"transformers/training_args\.py")
STRICT = True  # unknown keys stop the run
BASE = ""
OPEN: dict[str, list[str]] = {}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    known = classes([folder / "transformers" / "training_args.py"])
    snapshot.add("TrainingArguments", class_fields("TrainingArguments", known))
    return snapshot
