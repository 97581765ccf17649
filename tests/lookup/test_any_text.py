"""Whatever is asked, a look-up answers or says in one line what it cannot take."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_guard.configs.values import InputError
from grpo_guard.lookup.explain import explain
from grpo_guard.lookup.fixes import fixes
from grpo_guard.lookup.matrix import matrix
from grpo_guard.lookup.notes import read_reference
from grpo_guard.lookup.playbook import playbook
from grpo_guard.lookup.skills import match_skill
from grpo_guard.lookup.symptoms import symptoms

PIECES = st.sampled_from(
    ["nan", "loss", "verl", "#", "6782", "显存", "(", "*", "[", "\\", "\n", "\x00", "\ud800", " ", "D08", "/", ".."]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=12).map("".join))
LOOK_UPS = [
    lambda text: symptoms(text, detail="brief"),
    lambda text: playbook(text, detail="brief"),
    lambda text: fixes(bug=text, detail="brief"),
    lambda text: fixes(pattern=text, detail="brief"),
    lambda text: matrix(bug=text, detail="brief"),
    lambda text: explain(text, detail="brief"),
    lambda text: match_skill(text, detail="brief"),
    lambda text: read_reference(text, detail="brief"),
    lambda text: read_reference("auto-memory", section=text, detail="brief"),
    lambda text: read_reference(search=text, detail="brief"),
    lambda text: read_reference(framework=text, detail="brief"),
]


@pytest.mark.parametrize("look_up", LOOK_UPS)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_any_text(look_up, text):
    try:
        answer = look_up(text)
    except InputError as error:
        assert str(error)
    else:
        assert len(json.dumps(answer)) < 12_000


@pytest.mark.parametrize("text", ["nan " * 500, "显存不足" * 500, "a" * 2_000, "(" * 2_000, "loss: nan " * 200])
def test_long_text_is_answered(text):
    assert symptoms(text)["symptoms"] is not None
    assert match_skill(text)["skills"] is not None
    assert read_reference(search=text) is not None
