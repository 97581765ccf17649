"""GitHub annotations: one workflow command a finding, escaped so that no text of the user ends it early."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_guard.cli import main
from grpo_guard.model import Finding, Fix, Report, SettingRef, UnknownKeyRow
from grpo_guard.render.github import github_text


def annotation(file: str = "run.sh", line: int = 3, message: str = "It fails.", title: str = "A title") -> str:
    setting = SettingRef("group_size", "n", 1, "explicit", file, line)
    finding = Finding("a-rule", "error", "high", title, message, setting=setting, fix=Fix("Set n=8."))
    return github_text(Report("verl", findings=[finding]))


def test_a_finding_is_one_line() -> None:
    assert annotation() == "::error file=run.sh,line=3,title=A title [a-rule]::It fails.%0Afix: Set n=8.\n"


def test_levels() -> None:
    shown = "".join(
        github_text(Report("verl", findings=[Finding("a", level, "high", "T", "M")]))
        for level in ("error", "warning", "info")
    )
    assert [line.split(" ")[0] for line in shown.splitlines()] == ["::error", "::warning", "::notice"]


def test_what_would_end_a_property_or_the_message_is_escaped() -> None:
    shown = annotation(file="a,b:c%.sh", message="50% of\r\n::error::x", title="One, two: three")
    assert shown == (
        "::error file=a%2Cb%3Ac%25.sh,line=3,title=One%2C two%3A three [a-rule]"
        "::50%25 of%0D%0A::error::x%0Afix: Set n=8.\n"
    )


def test_a_default_is_shown_at_the_file_of_the_run() -> None:
    setting = SettingRef("group_size", "n", 1, "default", version="verl 0.9.1")
    report = Report("verl", sources=[{"path": "run.sh", "format": "shell", "keys": 3}])
    report.findings = [Finding("a-rule", "info", "high", "T", "M", setting=setting)]
    assert github_text(report) == "::notice file=run.sh,title=T [a-rule]::M\n"


def test_unknown_keys_are_warnings_and_told_once() -> None:
    row = UnknownKeyRow("trainer.nnodess", "run.sh", 4, ["trainer.nnodes"], "unknown to every release")
    report = Report("verl", unknown_keys=[row])
    assert github_text(report) == (
        "::warning file=run.sh,line=4,title=Unknown key [unknown-key]"
        "::trainer.nnodess: unknown to every release; did you mean trainer.nnodes?\n"
    )
    place = SettingRef("", "trainer.nnodess", None, "explicit", "run.sh", 4)
    report.findings = [Finding("unknown-key", "error", "high", "T", "M", setting=place)]
    assert github_text(report).count("::") == 2


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.sh").write_text(
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\\n actor_rollout_ref.rollout.n=1\n"
    )
    assert main(["validate", str(tmp_path / "run.sh"), "--format", "github"]) == 1
    one = capsys.readouterr().out
    assert "::error file=run.sh,line=2,title=Group size of one" in one
    assert main(["validate", ".", "--format", "github"]) == 1
    many = capsys.readouterr()
    assert many.out == one
    assert many.err.startswith("1 of 1 files validated: ")
