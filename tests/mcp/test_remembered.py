"""Look-ups that were answered before: the same answer, few of them, none for long arguments."""

from __future__ import annotations

import pytest
from mcp import Client

from grpo_guard import app, remembered
from grpo_guard.limits import MAX_QUERY_CHARS, MAX_REMEMBERED
from grpo_guard.remembered import Remembered
from grpo_guard.roots import Roots
from grpo_guard.tools.arguments import Arguments
from grpo_guard.tools.tool import Answer, Tool

READS_FILES = {"validate_config", "diagnose", "estimate_memory", "proof"}


def test_what_reads_files_or_computes_now_is_never_remembered():
    assert {tool.name for tool in app.TOOLS if not tool.looks_up} == READS_FILES


def test_the_order_of_arguments_does_not_matter_and_their_values_do():
    key = Remembered.key
    assert key("fixes", {"bug": "a", "limit": 1}) == key("fixes", {"limit": 1, "bug": "a"})
    assert len({key("fixes", {"bug": "1"}), key("fixes", {"bug": 1}), key("explain", {"id": "1"})}) == 3
    assert key("symptoms", {"query": "x" * MAX_QUERY_CHARS}) is None


def test_another_day_is_another_question(monkeypatch):
    """An entry may have become too old in the night."""
    today = Remembered.key("fixes", {})

    class Tomorrow(remembered.date):
        @classmethod
        def today(cls):
            return cls(2099, 1, 1)

    monkeypatch.setattr(remembered, "date", Tomorrow)
    assert Remembered.key("fixes", {}) != today


def test_the_oldest_is_forgotten_first():
    answers: Remembered[int] = Remembered()
    keys = [Remembered.key("fixes", {"offset": number}) for number in range(MAX_REMEMBERED + 1)]
    for number, key in enumerate(keys):
        answers.keep(key, number)
        assert answers.get(keys[0]) in (0, None)  # asked for again, so it stays
    assert answers.get(keys[0]) == 0
    assert answers.get(keys[1]) is None
    assert answers.get(keys[-1]) == MAX_REMEMBERED
    assert answers.get(None) is None


@pytest.mark.anyio
async def test_a_tool_is_asked_once_and_again_after_an_error_or_a_long_answer(monkeypatch, tmp_path):
    asked = []

    def run(arguments, roots):
        asked.append(1)
        if len(asked) == 1:
            raise ZeroDivisionError
        return Answer({"n": len(asked)}, "x" * (5_000 if len(asked) == 2 else 5))

    monkeypatch.setattr(app, "TOOLS", (Tool("t", "t", "", Arguments, run, {}, looks_up=True),))
    async with Client(app.build_server(Roots.choose([str(tmp_path)]))) as client:
        found = [await client.call_tool("t", {}) for _ in range(5)]
    assert [row.structured_content and row.structured_content["n"] for row in found] == [None, 2, 3, 3, 3]
