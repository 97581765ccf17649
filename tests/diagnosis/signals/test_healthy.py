"""Healthy runs of every format stay silent; each signal that a fault gives is tested in test_signals.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def healthy():
    path = ROOT / "benchmarks/diagnosis/healthy.py"
    spec = importlib.util.spec_from_file_location("healthy", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["healthy"] = module
    spec.loader.exec_module(module)
    return module


def test_no_healthy_run_gives_more_than_info(healthy, tmp_path):
    found = healthy.outcomes(tmp_path, rounds=1)
    assert len(found) == len(healthy.VARIANTS) * len(healthy.WRITERS) >= 100
    assert [row.name for row in found if not row.rows] == []
    assert {row.name: [signal.id for signal in row.loud] for row in found if row.loud} == {}


def test_every_format_gives_back_what_was_written(healthy, tmp_path):
    """The same run in each format: as many steps, and the same gradient norms up to the digits that are printed."""
    from random import Random

    from grpo_guard.logs import read_logs

    variant = healthy.VARIANTS[1]
    runs = healthy.rows(variant, 0)
    without_norm = {"nemo-rl"}  # prints no gradient norm
    for kind, (writer, suffix) in healthy.WRITERS.items():
        content = writer(runs, Random(0))
        path = tmp_path / f"{kind}.{suffix}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        reading = read_logs([path])
        if kind in without_norm:
            assert len(reading.series["reward_mean"]) == len(runs)
            continue
        norms = reading.series["grad_norm"]
        assert list(norms.values) == pytest.approx([row["norm"] for row in runs], rel=2e-3, abs=6e-4), kind
        assert norms.steps[0] in (0, 1) and norms.steps[-1] - norms.steps[0] == len(runs) - 1, kind
