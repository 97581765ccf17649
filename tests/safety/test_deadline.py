"""A request's time: what is known when it is over is answered, with a note that says what was left out."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest

from grpo_guard import deadline
from grpo_guard.configs.values import InputError
from grpo_guard.deadline import Deadline, passed, within
from grpo_guard.diagnosis.diagnose import diagnose
from grpo_guard.logs import read_logs
from grpo_guard.validate import validate_targets, validate_text

SCRIPT = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n"
ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


@pytest.fixture
def ticks(monkeypatch) -> None:
    """A clock that goes on by one second with every look at it."""
    monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)


def test_without_a_deadline_there_is_time():
    assert not passed()


def test_shares_of_the_time(ticks):
    with within(Deadline(10)):
        looks = [passed(0.5) for _ in range(6)]
    assert looks == [False, False, False, False, True, True]
    assert not passed()


def test_a_deadline_can_be_ended_from_another_thread():
    given = Deadline(1_000)
    with within(given):
        assert not passed()
        thread = threading.Thread(target=given.end)
        thread.start()
        thread.join()
        assert passed()


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_long_log_is_read_as_far_as_the_time_goes(ticks, tmp_path):
    lines = "".join(f"step:{step} - actor/grad_norm:0.5 - critic/score/mean:0.25\n" for step in range(60_000))
    path = written(tmp_path, "train.log", ERROR + lines)
    with within(Deadline(20)):
        answer = diagnose("", [path])
    assert answer.hypotheses and answer.hypotheses[0].bugs is not None
    (row,) = answer.coverage["files"]
    assert 0 < row["lines"] < 60_001
    notes = "\n".join(answer.coverage["notes"])
    assert f"the time was over: read to line {row['lines']:,} only" in notes
    whole = read_logs([path])
    assert whole.coverage["files"][0]["lines"] == 60_001 and whole.coverage["notes"] == []


def test_of_many_logs_the_first_are_read(ticks, tmp_path):
    paths = [written(tmp_path, f"{number}.log", ERROR) for number in range(20)]
    with within(Deadline(30)):
        coverage = read_logs(paths).coverage
    assert 1 <= len(coverage["files"]) < 20
    assert any("logs not read" in note for note in coverage["notes"])


def test_a_log_of_which_nothing_could_be_read_is_one_line(ticks, tmp_path):
    path = written(tmp_path, "train.log", ERROR)
    with within(Deadline(0)), pytest.raises(InputError, match="nothing to go by"):
        diagnose("", [path])


def test_of_many_launches_the_first_are_checked(ticks):
    with within(Deadline(500)):
        report = validate_text(SCRIPT * 5)
    assert "one-sample-groups" in [finding.rule for finding in report.findings]
    (note,) = [note for note in report.notes if note.startswith("the time was over")]
    assert "of 5 launches were checked" in note and "not looked at" in note


def test_of_many_files_the_first_are_read(ticks, tmp_path):
    paths = [written(tmp_path, f"{number}.sh", SCRIPT) for number in range(20)]
    with within(Deadline(40)):
        report = validate_targets(paths)
    assert 1 <= len(report.sources) < 20
    assert any("files were not read" in note for note in report.notes)


def test_rows_of_the_seeds_are_not_answered_from_half_the_rules(ticks):
    with within(Deadline(20)):
        report = validate_text(SCRIPT, ruleset="seed")
    assert report.seed_rules == []
    assert any(note.startswith("the time was over") for note in report.notes)
