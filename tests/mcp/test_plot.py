"""diagnose(plot=true): the metrics as one PNG beside the answer, with the onset of each signal marked."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from PIL import Image

from grpo_guard.app import _success
from grpo_guard.model import Curve
from grpo_guard.render.picture import MOST_PANELS, picture
from grpo_guard.roots import Roots
from grpo_guard.tools.diagnose import TOOL

RED = (0xC4, 0x32, 0x0A)


def call(folder: Path, **arguments: object):
    return TOOL.call(arguments, Roots.choose([str(folder)]))


def colours(png: bytes) -> set[tuple[int, int, int]]:
    image = Image.open(io.BytesIO(png)).convert("RGB")
    return {colour for _, colour in image.getcolors(image.width * image.height)}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = [{"step": i, "grad_norm": 0.4 if i < 60 else 0.4 * 1.3 ** (i - 59), "reward": 0.5} for i in range(80)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return tmp_path


def test_the_picture_stands_beside_the_text_as_image_content(log):
    content = _success(call(log, log_path="metrics.jsonl", plot=True)).content
    assert [block.type for block in content] == ["text", "image"]
    assert content[1].mime_type == "image/png"


def test_nobody_who_does_not_ask_pays_for_it(log):
    answer = call(log, log_path="metrics.jsonl")
    assert answer.picture == b""
    assert [block.type for block in _success(answer).content] == ["text"]


def test_it_is_left_out_with_a_note_where_there_is_nothing_to_draw(tmp_path):
    answer = call(tmp_path, symptoms="loss is nan", plot=True)
    assert answer.picture == b""
    assert "no metric to plot: pass a log with metrics (log or log_path)" in answer.data["notes"]
    assert "no metric to plot" in answer.text


def test_it_is_left_out_with_a_note_where_pillow_is_missing(log, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    answer = call(log, log_path="metrics.jsonl", plot=True)
    assert answer.picture == b"" and answer.data["hypotheses"]
    assert 'plots need Pillow: install "grpo-guard[plots]", or leave plot out' in answer.data["notes"]


def test_a_mark_is_drawn_where_a_signal_begins():
    steps, values = range(100), [1.0] * 100
    assert RED not in colours(picture([Curve("grad_norm", steps, values)]))
    assert RED in colours(picture([Curve("grad_norm", steps, values, [(50, "gradient norm grows")])]))


def test_curves_with_marks_come_first_and_the_number_is_bounded():
    plain = [Curve(f"m{i}", [0, 1], [0, 1]) for i in range(20)]
    marked = Curve("late", [0, 1], [0, 1], [(1, "x")])
    assert picture([*plain, marked]) == picture([marked, *plain[: MOST_PANELS - 1]])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_curve_without_a_finite_value_is_a_panel_that_says_so(value):
    assert picture([Curve("loss", [0, 1], [value, value])]).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["\x1b[31mred", "损失", "x" * 500, "a\nb\ud800"])
def test_any_name_can_be_drawn(name):
    assert picture([Curve(name, [0], [1.0], [(0, name)])]).startswith(b"\x89PNG")
