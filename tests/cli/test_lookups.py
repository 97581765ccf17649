"""The verbs of the look-ups: text to read, JSON with everything, one line for what is not known."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from grpo_guard.cli import main

VERBS = [
    ["symptoms"],
    ["symptoms", "loss", "is", "nan"],
    ["playbook"],
    ["playbook", "cuda", "stream", "safety"],
    ["playbook", "fsdp"],
    ["fixes"],
    ["fixes", "verl-6782"],
    ["fixes", "weights_not_synced"],
    ["matrix"],
    ["matrix", "--view", "streams", "--compare"],
    ["matrix", "--view", "cross", "--bug", "verl#6782"],
    ["matrix", "--view", "versions", "--framework", "verl"],
    ["avoid", "nan", "--framework", "deepspeed", "--version", "deepspeed=0.18.5"],
    ["avoid", "moe", "--framework", "verl"],
    ["avoid", "muon", "--framework", "megatron-lm"],
    ["explain"],
    ["explain", "D08", "--view", "decision"],
    ["skill", "gradient", "explosion"],
    ["read"],
    ["read", "--framework", "MindIE"],
    ["read", "--search", "sleep level"],
    ["read", "auto-memory", "--section", "notes"],
]


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_text_and_json(arguments, capsys):
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert text.strip() and "{'" not in text
    assert main([*arguments, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert not [note for note in data.get("notes", ()) if note.startswith("cut: ")]


def test_json_is_the_answer_of_the_tool_in_full(capsys):
    from grpo_guard.roots import Roots
    from grpo_guard.tools.fixes import TOOL

    assert main(["fixes", "verl-6782", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == TOOL.call({"bug": "verl-6782", "detail": "full"}, Roots.choose()).data


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["fixes", "verl-1"], "no bug 'verl-1'"),
        (["avoid", "nan", "--framework", "verll"], "no framework 'verll'"),
        (["avoid", "nan", "--framework", "verl", "--version", "verl=new"], "verl=new: not a version"),
        (["matrix", "--framework", "verl"], "framework is for the view versions"),
        (["playbook", "qwertz"], "no playbook for 'qwertz'"),
        (["explain", "qwertz"], "nothing is called 'qwertz'"),
        (["matrix", "--view", "cross"], "view cross needs a bug"),
        (["read", "qwertz"], "no note 'qwertz'"),
        (["read", "--framework", "qwertz"], "no notes for framework 'qwertz'"),
        (["explain", "--view", "cross"], "view cross needs an id"),
    ],
)
def test_what_is_not_known_is_one_line_and_exit_2(arguments, says, capsys):
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"grpo-guard: {says}") and told.err.count("\n") == 1


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_is_a_number_from_1_on(limit):
    with pytest.raises(SystemExit) as stopped:
        main(["symptoms", "nan", "--limit", limit])
    assert stopped.value.code == 2


def test_a_look_up_imports_nothing_heavy(tmp_path):
    code = (
        "import sys; from grpo_guard.cli import main; main(['symptoms', 'nan']); print(*sys.modules, file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True, env=environment
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert loaded & {"mcp", "pydantic", "numpy", "yaml", "anyio"} == set()
