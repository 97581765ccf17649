"""ms-swift: the dataclasses behind `swift rlhf`, `swift sft`, `swift rollout` and `megatron rlhf`, and the DeepSpeed
configs that ship with it (tables "ds_zero0" ...). Fields of transformers.TrainingArguments are in that package's file;
"requires" holds what a release asks for of other packages.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from .hf import SEQ2SEQ
from .history import Snapshot
from .requirements import requirements
from .source import class_fields, classes
from .yaml_tables import flat

PACKAGE = "ms-swift"
SINCE = "3.4.0"
WANTED = re.compile(
    r"swift/(?:llm/argument/(?:base_args/)?\w+|arguments/(?:base_args/)?\w+|trainers/(?:rlhf_)?arguments"
    r"|rlhf_trainers/(?:arguments|args_mixin)|megatron/arguments?/\w+|ray(?:_utils)?/arguments)\.py"
    r"|swift/(?:llm/ds_config|config)/zero\w+\.json|ms_swift-[^/]+\.dist-info/METADATA"
)
STRICT = True  # HfArgumentParser's rest ends the run, unless ignore_args_error is on
ABBREVIATIONS = True  # argparse takes unique beginnings
BASE = ""
OPEN: dict[str, list[str]] = {}
# Table: the class behind it; a release that lacks the class lacks the table
TABLES = {
    "rlhf": ("RLHFArguments",),
    "sft": ("SftArguments", "TrainArguments"),
    "rollout": ("RolloutArguments",),
    "megatron_rlhf": ("MegatronRLHFArguments",),
}


def read(version: str, folder: Path) -> Snapshot:
    snapshot = Snapshot(version)
    snapshot.tables["requires"] = requirements(folder, ("trl", "transformers", "accelerate"))
    paths = sorted((folder / "swift").rglob("*.py"), key=lambda path: ("megatron" in path.parts, str(path)))
    known = classes(paths)
    if "Seq2SeqTrainingOverrideArguments" in known:  # 3.x starts from the class of that name in transformers
        known.pop("Seq2SeqTrainingArguments", None)
    for table, names in TABLES.items():
        name = next((name for name in names if name in known), None)
        if name is None:
            continue
        if table in ("rlhf", "sft"):
            snapshot.add(table, SEQ2SEQ)
        snapshot.add(table, class_fields(name, known))
    for path in sorted((folder / "swift").rglob("zero*.json")):
        snapshot.tables[f"ds_{path.stem}"] = flat(json.loads(path.read_text(encoding="utf-8")))
    return snapshot
