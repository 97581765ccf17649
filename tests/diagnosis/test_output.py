"""The command line verb, the page, and the text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from grpo_guard.cli import main
from grpo_guard.model import Curve
from grpo_guard.render.diagnosis import sparkline
from grpo_guard.render.html import page

ROW = {
    "rank": 1,
    "pattern": "weights_not_synced",
    "title": "The sampler does not get the update",
    "confidence": 0.62,
    "bugs": ["verl-6782"],
    "evidence": ["<script>alert(1)</script>"],
    "references": ["https://example.org/a?b=1&c=2", "javascript:alert(1)"],
}


def test_json_has_the_fields_of_the_interface(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step:3 - actor/grad_norm:nan\n", encoding="utf-8")
    given = ["--symptoms", "grad norm is nan", "--log", str(log), "--version", "verl=0.8.0", "--version", "gpu=4090"]
    code = main(["diagnose", *given, "--framework", "verl", "--format", "json"])
    data = json.loads(capsys.readouterr().out)
    assert code == 0
    assert set(data) >= {"signals", "hypotheses", "ask_next", "not_a_fault", "coverage"}
    assert set(data["hypotheses"][0]) == {
        *("rank", "pattern", "title", "confidence", "bugs", "evidence", "against", "confirm", "fix", "references"),
    }
    assert set(data["signals"][0]) >= {"id", "title", "severity", "evidence", "source", "step", "line"}


def test_text_names_cause_check_and_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--symptoms", "out of memory when vLLM wakes up", "--limit", "1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("1. Out of memory when trainer and engine hand over the GPU  [colocation_handover_oom, ")
    assert re.search(r"^   check   ", text, re.MULTILINE) and re.search(r"^   fix     ", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to go by"),
        (["--log", "absent.log"], "absent.log: cannot be read"),
        (["--symptoms", "nan", "--config", "absent.yaml"], "absent.yaml: no such file"),
        (["--symptoms", "nan", "--version", "0.8.0"], "write it as PKG=VER"),
        (["--symptoms", "nan", "--html", "/absent/folder/page.html"], "cannot be written"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err and shown.err.count("\n") == 1


def test_the_page_is_one_file_without_script_or_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "page.html"
    assert main(["diagnose", "--symptoms", "<img src=x onerror=y> loss is nan", "--html", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert not re.search(r"<script|<img|<link|@import|url\(|src=", text)


def test_what_the_input_says_is_escaped_and_only_web_addresses_are_links() -> None:
    text = page({"hypotheses": [ROW], "coverage": {}})
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert re.findall(r'href="([^"]*)"', text) == ["https://example.org/a?b=1&amp;c=2"]
    assert "62%" in text


def test_a_curve_is_drawn_with_its_onset() -> None:
    curve = Curve("actor/grad_norm", [1, 2, 3, 4], [1.0, 2.0, float("nan"), 3.0], [(3, "not finite")])
    text = page({"hypotheses": [ROW], "coverage": {}}, [curve])
    assert '<polyline points="10.0,110.0 143.3,60.0 410.0,10.0"' in text
    assert '<line x1="276.7" x2="276.7"' in text and "<title>not finite</title>" in text


def test_a_curve_without_a_finite_value_says_so() -> None:
    assert "no finite value" in page({"hypotheses": [], "coverage": {}}, [Curve("loss", [1], [float("inf")])])


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0, 1, 2, 3], "▁▃▆█"), ([1, 1], "▁▁"), ([0.0, float("nan"), 1.0], "▁!█"), ([float("inf")], "!"), ([], "")],
)
def test_sparkline(values: list[float], expected: str) -> None:
    assert sparkline(values) == expected
