"""validate over folders: in order, in parallel, with what is no run passed over and counted."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grpo_guard import many
from grpo_guard.cli import main
from grpo_guard.cli_many import _with_progress
from grpo_guard.many import Checked, Outcome, Task, find_files, validate_each

HAZARD = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1 \\\n  a.b=1\n"
SOUND = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=8\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "b/run.sh": HAZARD,
        "a/sound.sh": SOUND,
        "a/ds.json": '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}',
        "docker-compose.yaml": "services:\n  web:\n    image: x\n",
        "broken.yaml": "a: [\n",
        "notes.md": HAZARD,
        ".hidden/run.sh": HAZARD,
        "node_modules/run.sh": HAZARD,
        "setup.sh": "pip install verl\n",
    }
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    Path("link.sh").symlink_to("b/run.sh")
    return tmp_path


def test_files_are_found_by_name_in_order(folder: Path) -> None:
    assert [path.as_posix() for path in find_files([Path(".")])] == [
        "broken.yaml", "docker-compose.yaml", "setup.sh", "a/ds.json", "a/sound.sh", "b/run.sh",
    ]  # fmt: skip
    assert [path.name for path in find_files([Path("b/run.sh"), Path("b"), Path("notes.md")])] == ["run.sh", "notes.md"]


def test_json_has_reports_and_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", ".", "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [report["sources"][0]["path"] for report in data["reports"]] == ["a/ds.json", "a/sound.sh", "b/run.sh"]
    assert [report["framework"] for report in data["reports"]] == ["deepspeed", "verl", "verl"]
    summary = data["summary"]
    assert (summary["files"], summary["validated"]) == (6, 3)
    assert summary["error"] == sum(report["summary"]["error"] for report in data["reports"]) > 0
    assert summary["frameworks"] == {"deepspeed": 1, "verl": 2}
    assert summary["skipped"] == {"no launch or config": 2, "unreadable": 1}
    assert summary["unreadable"] == [
        {"path": "broken.yaml", "error": "broken.yaml line 2: broken YAML, did not find expected node content; "
         "correct that line"}
    ]  # fmt: skip


def test_text_shows_reports_with_findings_and_counts_the_rest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "."]) == 1
    out, err = capsys.readouterr()
    assert "verl: b/run.sh" in out
    assert "docker-compose" not in out
    assert err.startswith("unreadable: broken.yaml line 2: broken YAML")
    assert out.splitlines()[-1].startswith("3 of 6 files validated: 1 error, ")
    assert out.splitlines()[-1].endswith("; skipped: 2 no launch or config, 1 unreadable")


def test_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "a", "--fail-on", "error"]) == 0
    assert main(["validate", "b", "--fail-on", "never"]) == 0
    assert main(["validate", "--each", "a/sound.sh", "b/run.sh"]) == 1
    assert main(["validate", "--each", "docker-compose.yaml"]) == 0  # a hook names files that are no runs
    assert main(["validate", "--each", "a/sound.sh", "broken.yaml"]) == 0
    assert main(["validate", "--each", "broken.yaml"]) == 2
    assert main(["validate", "--each", "a/sound.sh", "missing.sh"]) == 2
    assert "missing.sh: no such file or folder" in capsys.readouterr().err


def test_an_empty_folder_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "0 of 0 files validated: 0 errors, 0 warnings, 0 infos\n"


def rules_of(checked: Checked) -> list[str]:
    return [finding.rule for finding in checked.report.findings]


def test_workers_give_the_same_as_one_process_in_the_same_order(tmp_path: Path) -> None:
    for number in range(90):
        text = HAZARD if number % 3 else SOUND
        (tmp_path / f"{number:02}.sh").write_text(f"# {number}\n{text}")
    paths, task = find_files([tmp_path]), Task({}, rules_of)
    alone = list(validate_each(paths, task, workers=1))
    shared = list(validate_each(paths, task, workers=3))
    assert [outcome.path for outcome in alone] == [str(path) for path in paths]
    assert shared == alone


def test_no_more_chunks_are_handed_out_than_can_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files there are, only so many results exist at once: the next chunk waits for the first."""
    waiting: list[int] = []

    class Done:
        def __init__(self, paths: list[Path]) -> None:
            self.outcomes = [Outcome(str(path)) for path in paths]
            waiting.append(len(self.outcomes))

        def result(self) -> list[Outcome]:
            waiting.pop(0)
            return self.outcomes

    class Pool:
        def __init__(self, _: int) -> None: ...

        def submit(self, _: object, paths: list[Path], __: Task) -> Done:
            return Done(paths)

        def shutdown(self, **_: object) -> None: ...

    monkeypatch.setattr(many, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(many, "validate_one", lambda path, _: Outcome(str(path)))
    paths = [Path(f"{number}.sh") for number in range(5_000)]
    seen, most = [], 0
    for outcome in validate_each(paths, Task({}, rules_of), workers=2):
        seen.append(outcome.path)
        most = max(most, sum(waiting))
    assert seen == [str(path) for path in paths]
    assert most <= 3 * 2 * 16


def test_a_worker_that_dies_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures.process import BrokenProcessPool

    class Pool:
        def __init__(self, _: int) -> None: ...

        def submit(self, *_: object) -> None:
            raise BrokenProcessPool

        def shutdown(self, **_: object) -> None: ...

    monkeypatch.setattr(many, "ProcessPoolExecutor", Pool)
    for number in range(60):
        (tmp_path / f"{number}.sh").write_text(SOUND)
    with pytest.raises(many.InputError, match="a worker process was ended from outside"):
        list(validate_each(find_files([tmp_path]), Task({}, rules_of), workers=2))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def outcomes() -> Iterator[Outcome]:
    yield from (Outcome(f"{number}.sh") for number in range(2))


def test_the_bar_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shows in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert [outcome.path for outcome in _with_progress(outcomes(), 2)] == ["0.sh", "1.sh"]
        assert ("] 1/2 0.sh" in stream.getvalue()) is shows
        assert stream.getvalue().endswith("\r\x1b[K") is shows
