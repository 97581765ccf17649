"""What is generated from knowledge/ is as fresh as its sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "script", ["build_notes.py", "build_index.py", "build_signals.py", "build_diagnosis.py", "build_docs.py"]
)
def test_generated_files_are_fresh(script: str) -> None:
    done = subprocess.run([sys.executable, f"scripts/{script}", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
