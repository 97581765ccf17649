"""Faults of the text that the reader itself reports."""

from __future__ import annotations

import pytest

START = "python3 -m verl.trainer.main_ppo \\\n  data.a=1 "


def lints(script, rule):
    return [lint for lint in script.lints if lint.rule == rule]


@pytest.mark.parametrize(
    ("text", "line", "count", "reason"),
    [
        (START + "\\ \n  data.b=2 \\\n  data.c=3", 3, 2, "blanks behind the backslash in line 2 ends it"),
        (START + "\\ # why\n  data.b=2", 3, 1, "a comment behind the backslash in line 2 ends it"),
        (START + "\\\n  # data.x=0 \\\n  data.b=2", 4, 1, "a comment line in line 3 ends it"),
        (START + "\\\n\n  +data.b=2 \\\n  --flag", 4, 2, "a blank line in line 3 ends it"),
        (START + "\n  ++data.b=2", 3, 1, "a missing backslash in line 2 ends it"),
        ("A=(--x 1 --y 2)\npython3 train.py --a 1\n  ${A[@]} \\\n  --b", 3, 5, "a missing backslash in line 2 ends it"),
        (START + "\n  ~data.b \\\n  data.c=1", 3, 2, "a missing backslash in line 2 ends it"),
    ],
)
def test_broken_continuation(text, line, count, reason, read):
    script = read(text)
    (found,) = lints(script, "shell-broken-continuation")
    assert (found.line, found.severity) == (line, "error")
    assert found.message.startswith(f"{count} argument")
    assert found.message.endswith(reason)
    assert found.fix
    assert len(script.launches) == 1


@pytest.mark.parametrize(
    "text",
    [
        START + "\\\n  # data.b=2\n",  # the comment is the last line
        START + "\\\n  data.b=2 # why\n",
        START + "\\\n\necho done",
        "x=1\n./train.sh --a\n",
    ],
)
def test_no_broken_continuation(text, read):
    assert not lints(read(text), "shell-broken-continuation")


def test_glued_arguments(read):
    script = read("python3 -m verl.trainer.main_ppo \\\n  a.b='x'\\\nc.d=1 \\\n  e.f=2")
    (found,) = lints(script, "shell-glued-arguments")
    assert (found.line, found.severity) == (2, "error")
    assert [word.text for word in script.launches[0].argv][3:] == ["a.b=xc.d=1", "e.f=2"]
    assert not lints(read("show a\\\n  b.c=1 'x'\\\n  d"), "shell-glued-arguments")
    assert not lints(read("show http://host/a\\\n/b"), "shell-glued-arguments")


def test_used_before_set(read):
    script = read("ppo_len=$((8192 / sp_size))\nsp_size=4\nshow $ppo_len")
    (found,) = lints(script, "shell-used-before-set")
    assert (found.line, found.severity) == (1, "warning")
    assert "sets it only in line 2" in found.message
    assert not lints(script, "shell-unset-variable")


def test_extending_what_comes_from_outside_is_no_fault(read):
    assert not lints(read('export PYTHONPATH=$PYTHONPATH:/x\nA+=("${A[@]}" y)'), "shell-used-before-set")


def test_unset_variable(read):
    script = read("show $MODEL\nshow ${TP:-1} ${PP:-}")
    assert [(lint.line, lint.severity, "$MODEL" in lint.message) for lint in script.lints] == [(1, "info", True)]


def test_required_variable(read):
    script = read(': "${MODEL_PATH:?set it to the checkpoint}"\nshow $MODEL_PATH')
    (found,) = lints(script, "shell-required-variable")
    assert (found.line, found.severity) == (1, "info")
    assert "MODEL_PATH" in found.message and "set it to the checkpoint" in found.message


def test_a_part_that_cannot_be_read_costs_only_itself(read):
    script = read("if [ a = b ]; then\n  x=1\ndone\nshow (a)\nshow b")
    assert [command.argv[1].text for command in script.commands] == ["b"]
    assert {lint.rule for lint in script.lints} == {"shell-syntax"}
    assert all(lint.severity == "error" for lint in script.lints)


def test_arithmetic_that_bash_rejects(read):
    script = read("show $((8 * 0.5)) $((1 / 0))")
    assert [lint.rule for lint in script.lints] == ["shell-syntax"]
    assert not script.commands[0].argv[1].known


@pytest.mark.parametrize("division", ["24 / NGPU", "24 / ${NGPU}", "${NGPU} / 24"])
def test_a_divisor_that_an_argument_gives_is_no_fault(read, division):
    script = read(f"NGPU=$1\nshow $(({division}))")
    assert script.lints == []
    assert not script.commands[0].argv[1].known


def test_real_scripts_are_free_of_faults(read):
    text = (
        "#!/usr/bin/env bash\nset -xeuo pipefail\n"
        "TP=${TP:-2}\nEXTRA=()\n"
        'case "${BACKEND:-vllm}" in vllm) EXTRA+=(a.b=1) ;; sglang) EXTRA+=(a.c=1) ;; esac\n'
        'python3 -m verl.trainer.main_ppo \\\n  rollout.tp=${TP} \\\n  "${EXTRA[@]}" \\\n  $@ # more\n'
    )
    script = read(text)
    assert script.lints == []
    assert [word.text for word in script.launches[0].argv][3:] == ["rollout.tp=2", "a.b=1"]
