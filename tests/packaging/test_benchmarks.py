"""The benchmarks run; their figures are for people to read, on a quiet machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    "name, figures",
    [
        ("validate.py", ["validate / three imports", "in process, median"]),
        ("serving.py --calls 20", ["grpo-guard / bare", "symptoms / bare, calls/s"]),
        ("lookup.py", ["load, median", "slowest look-up, median"]),
    ],
)
def test_a_benchmark_prints_its_figures_beside_their_goals(name, figures):
    script, *options = name.split()
    command = [sys.executable, str(BENCHMARKS / script), "--rounds", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = [line for line in done.stdout.splitlines() if " goal " in line]
    assert [line[:28].strip() for line in shown] == figures


def test_the_benchmark_over_a_folder_prints_throughput_and_memory():
    command = [sys.executable, str(BENCHMARKS / "directory.py"), "--files", "60", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "files per second" in done.stdout
    shown = [line[:28].strip() for line in done.stdout.splitlines() if " goal " in line]
    assert shown == ["all cores / one core", "busiest process, of all CPU", "memory, all / a tenth"]
