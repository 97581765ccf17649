"""A log that falls silent: times of lines in the styles of Python, Ray, vLLM, PyTorch, Megatron and syslog."""

from __future__ import annotations

import pytest

from grpo_guard.diagnosis.signals import detect
from grpo_guard.logs import read_logs
from grpo_guard.logs.clock import stamp_of

DAY = 739_848 * 86_400.0  # 2026-08-20
YEARLESS = 730_352 * 86_400.0  # 2000-08-20


@pytest.mark.parametrize(
    "line, style, day",
    [
        ("2026-08-20 10:11:12,345 INFO worker.py:1852 -- Started", "i", DAY),
        ("2026-08-20T10:11:12.345Z ready", "i", DAY),
        (" [2026-08-20 10:11:12] iteration       10/     100 | lm loss: 1.0E+00 |", "i", DAY),
        ("08/20/2026 10:11:12 - INFO - __main__ - start", "u", DAY),
        ("INFO 08-20 10:11:12 [core.py:61] Initializing", "v", YEARLESS),
        ("[E820 10:11:12.345678999 ProcessGroupNCCL.cpp:632] watchdog", "g", YEARLESS),
        ("W0820 10:11:12.000000 4711 run.py:766] ", "g", YEARLESS),
        ("Aug 20 10:11:12 node-3 kernel: oom-kill", "s", YEARLESS),
    ],
)
def test_styles(line, style, day):
    assert stamp_of(line) == (style, day + 10 * 3600 + 11 * 60 + 12)


def test_no_time():
    lines = ("timing: 10:11:12", "2026-13-40 10:11:12", "step:1 - a:2", "Foo 20 10:11:12 x", "")
    assert [stamp_of(line) for line in lines] == [None] * 5


def steps(last: int, minutes: int = 1) -> list[str]:
    row = "[2026-08-20 {0:02}:{1:02}:00] step:{2} - actor/grad_norm:0.5 - critic/score/mean:0.25"
    return [row.format(10 + at * minutes // 60, at * minutes % 60, at) for at in range(1, last + 1)]


WATCHDOG = (
    "[2026-08-20 10:51:00] [rank3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=90, OpType=ALLREDUCE)"
)


def silences(lines: list[str]) -> list[tuple[str, int | None, int | None]]:
    found = detect(read_logs(["\n".join(lines) + "\n"]))
    return [(row.severity, row.step, row.line) for row in found if row.id == "silence"]


def test_silence_before_a_watchdog():
    log = [*steps(20), "[2026-08-20 10:20:30] update_actor starts", WATCHDOG]
    assert silences(log) == [("error", 20, 21)]
    (row,) = [row for row in detect(read_logs(["\n".join(log)])) if row.id == "silence"]
    assert "nothing for 30 min after line 21: [2026-08-20 10:20:30] update_actor starts" in row.evidence
    assert "last good step 20; steps took 60 s; then line 22: [2026-08-20 10:51:00]" in row.evidence


def test_no_step_while_other_lines_go_on():
    waiting = [f"[2026-08-20 10:{minute}:00] autoscaler: 8 GPUs in use" for minute in range(21, 51, 2)]
    assert silences([*steps(20), *waiting, WATCHDOG]) == [("error", 20, 20)]


def test_silence_alone_is_no_accusation():
    saved = ["[2026-08-20 10:20:30] saving the last checkpoint", "[2026-08-20 10:50:30] saved"]
    assert silences([*steps(20), *saved]) == [("info", 20, 21)]


def test_a_pause_after_which_the_run_goes_on_is_none():
    late = [line.replace("2026-08-20 10:", "2026-08-20 12:") for line in steps(20)[10:]]
    assert silences([*steps(10), "[2026-08-20 10:10:30] validation", *late]) == []


def test_steps_that_take_long_are_no_silence():
    end = ["[2026-08-20 16:40:00] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=90)"]
    assert silences([*steps(20, minutes=20), *end]) == []
    assert silences([*steps(20), "INFO 08-20 18:20:40 [engine.py:1] in another time zone"]) == []
