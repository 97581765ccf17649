"""`memory --html`: one self-contained page with a bar per phase."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from grpo_guard.cli import main

SCRIPT = Path(__file__).parents[2] / "examples" / "verl_lora.sh"


@pytest.fixture
def page(tmp_path):
    target = tmp_path / "memory.html"
    assert main(["memory", str(SCRIPT), "--gpu", "4090", "--html", str(target)]) == 0
    return target.read_text(encoding="utf-8")


def test_each_phase_has_a_bar_stacked_by_its_terms(page, capsys):
    chart = page[page.index("<svg") : page.index("</svg>") + len("</svg>")]
    root = ElementTree.fromstring(chart)
    names = [text.text for text in root.iter("text")]
    assert {"load", "rollout", "weight sync", "log-prob", "update", "checkpoint"} <= set(names)
    assert any("GiB usable" in name for name in names)
    assert all(float(bar.get("width")) >= 0 for bar in root.iter("rect"))


def test_a_phase_that_does_not_fit_and_its_cure_are_told(page):
    assert "does not fit" in page
    assert "actor_rollout_ref.model.use_fused_kernels=true" in page


def test_the_page_needs_nothing_from_elsewhere(page):
    assert "<script" not in page
    assert "src=" not in page


def test_a_page_that_cannot_be_written_is_one_line(capsys):
    assert main(["memory", str(SCRIPT), "--html", "/nonexistent/x.html"]) == 2
    assert "cannot be written" in capsys.readouterr().err
