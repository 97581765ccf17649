"""LLaMA-Factory: the dataclasses that `llamafactory-cli train` fills. Fields of transformers.TrainingArguments are in
that package's file; "requires" holds what a release asks for of other packages.
"""

from __future__ import annotations

import re
from pathlib import Path

from .hf import SEQ2SEQ
from .history import Snapshot
from .requirements import requirements
from .source import class_fields, classes

PACKAGE = "llamafactory"
SINCE = "0.9.0"
WANTED = re.compile(r"llamafactory/hparams/\w+\.py|llamafactory-[^/]+\.dist-info/METADATA")
STRICT = True  # an unknown key ends the run, unless ALLOW_EXTRA_ARGS is set
BASE = ""
OPEN: dict[str, list[str]] = {}
CLASSES = ("ModelArguments", "DataArguments", "TrainingArguments", "FinetuningArguments", "GeneratingArguments")
TABLE = "train"


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    snapshot.tables["requires"] = requirements(folder, ("trl", "transformers", "accelerate"))
    known = classes(sorted((folder / "llamafactory" / "hparams").glob("*.py")))
    snapshot.add(TABLE, SEQ2SEQ)
    for name in CLASSES:
        if name in known:
            snapshot.add(TABLE, class_fields(name, known))
    return snapshot
