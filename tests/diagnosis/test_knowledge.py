"""The compiled knowledge of diagnose is fresh, and its rules are sound."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from grpo_guard.diagnosis import index
from grpo_guard.store import lookup

ROOT = Path(__file__).parents[2]
WEIGHTS = yaml.safe_load((ROOT / "knowledge" / "diagnosis.yaml").read_text(encoding="utf-8"))


def test_compiled_file_is_fresh() -> None:
    script = ROOT / "scripts" / "build_diagnosis.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_entry_of_the_knowledge_base_can_be_matched() -> None:
    entries = set(index.data()["entries"])
    assert {f"bug:{name}" for name in lookup.bugs()} <= entries
    assert {f"pattern:{name}" for name in lookup.patterns()} <= entries
    assert {f"symptom:{name}" for name in lookup.symptoms()} <= entries


def test_every_sign_is_used_and_every_cue_says_why_once() -> None:
    used = {sign for row in WEIGHTS["cues"] for sign in (*row["when"], *row.get("unless", ()))}
    assert set(WEIGHTS["signs"]) - used == set()
    rows = [(tuple(row["when"]), tuple(row.get("unless", ()))) for row in WEIGHTS["cues"]]
    assert len(rows) == len(set(rows))


def test_no_sign_matches_empty_or_healthy_text() -> None:
    healthy = "step:12 - critic/score/mean:0.41 - timing_s/gen:31.5 - perf/mfu/actor:0.38"
    for name, ways in WEIGHTS["signs"].items():
        expression = re.compile("|".join(ways), re.IGNORECASE)
        assert not expression.search(""), name
    loud = {name for name, ways in WEIGHTS["signs"].items() if re.search("|".join(ways), healthy, re.IGNORECASE)}
    assert loud & {"oom", "hang", "nan", "garbage", "crash", "zero", "flat"} == set()
