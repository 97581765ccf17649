"""doctor says whether this installation is whole, and its exit code says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grpo_guard import __version__
from grpo_guard import doctor as doctor_module
from grpo_guard.app import TOOLS
from grpo_guard.cli import main
from grpo_guard.doctor import doctor

CHECKS = ["knowledge", "validate", "diagnose", "proof", "read", "MCP", "open files", "roots"]


def test_a_whole_installation(capsys, tmp_path):
    assert main(["doctor", "--root", str(tmp_path), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["ok"] is True
    assert data["version"] == __version__
    assert data["roots"] == {"folders": [str(tmp_path)]}
    assert [check["name"] for check in data["checks"]] == CHECKS
    assert all(check["ok"] and check["note"] for check in data["checks"])
    assert data["knowledge"]["rules"] > 200 and data["knowledge"]["checked"]["last"] >= "2026-11-30"
    assert f"{len(TOOLS)} tools are listed" in data["checks"][5]["note"]


def test_as_text(capsys):
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"grpo-guard {__version__}, Python 3.")
    assert lines[-1] == "all is well"


def test_a_root_that_is_no_folder_fails(capsys, tmp_path):
    assert main(["doctor", "--root", str(tmp_path / "absent")]) == 1
    out = capsys.readouterr().out
    assert "FAILS roots" in out and out.endswith("1 of 8 fail\n")


@pytest.mark.parametrize(
    "part, broken, name",
    [
        ("_SCRIPT", "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8\n", "validate"),
        ("_LOG", "step:1 - actor/grad_norm:0.5\n", "diagnose"),
    ],
)
def test_a_part_that_answers_wrongly_fails(monkeypatch, part, broken, name):
    """The self-test can fail: without the planted fault its own finding is missing."""
    monkeypatch.setattr(doctor_module, part, broken)
    monkeypatch.setattr("grpo_guard.diagnosis.diagnose.LIMIT", 0 if name == "diagnose" else 5)
    data = doctor()
    failed = [check["name"] for check in data["checks"] if not check["ok"]]
    assert name in failed and data["ok"] is False


def test_missing_knowledge_is_a_failed_check_and_no_traceback(monkeypatch, tmp_path: Path):
    from grpo_guard import paths
    from grpo_guard.store import index

    def absent(name: str) -> Path:
        raise FileNotFoundError(f"no {name!r} folder in the package or beside it")

    index.forget()
    monkeypatch.setattr(index, "data_dir", absent)
    monkeypatch.setattr(paths, "data_dir", absent)
    try:
        data = doctor()
    finally:
        index.forget()
    assert data["ok"] is False and data["checks"][0]["note"].startswith("FileNotFoundError: no 'knowledge' folder")
