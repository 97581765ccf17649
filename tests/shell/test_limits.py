"""No text makes the reader hang, crash or grow without bound; a cap that is reached is told."""

from __future__ import annotations

import pytest

from grpo_guard import limits
from grpo_guard.configs.shell import read_script
from grpo_guard.configs.values import InputError

HOSTILE = {
    "nested if": "if true; then\n" * 3000 + "fi\n" * 3000,
    "nested substitution": "echo " + "$(" * 3000 + ")" * 3000,
    "nested defaults": "echo " + "${a:-" * 3000 + "}" * 3000,
    "nested quotes": "echo " + '"$(' * 2000 + ')"' * 2000,
    "nested tests": "[[ " + "( " * 3000 + "x" + " )" * 3000 + " ]]",
    "nested arithmetic": "x=$((" + "(" * 5000 + "1" + ")" * 5000 + "))",
    "signs": "x=$((" + "-" * 50000 + "1))",
    "powers": "x=$((" + "9**" * 2000 + "9))",
    "open quotes": 'echo "\n' * 10001,
    "open substitutions": "echo $((\n" * 10000,
    "here-documents": "cat <<EOF\n" * 5000,
    "brace product": "echo " + "{a,b}" * 60,
    "brace nest": "echo " + "{a," * 2000 + "b" + "}" * 2000,
    "open braces": "echo " + "{" * 9000 + "}",
    "brace range": "echo {1..100000000}",
    "doubling text": "x=aaaaaaaaaa\n" + "x=$x$x\n" * 100,
    "doubling array": "x=(a b c)\n" + 'x+=("${x[@]}")\n' * 100,
    "nested loops": "for i in {1..900}; do for j in {1..900}; do for k in {1..900}; do x=$i; done; done; done",
    "long loop": "x=0; while [ $x -lt 100000000 ]; do x=$((x+1)); done",
    "endless loop": "while true; do x=$((x+1)); done",
    "recursion": "f() { f; }\nf",
    "doubling recursion": 'f() { f "$@" a; f; }\nf',
    "eval of itself": """x='eval "$x"'; eval "$x" """,
    "pattern": "x=" + "a" * 90000 + "\ny=${x##*a*a*a*b}\nz=${x//a*a*b/c}\ncase $x in *a*a*a*b) ;; esac",
    "regular expression": "x=" + "a" * 190 + "\n[[ $x =~ (a*)*b ]]\n[[ $x =~ a*a*a*a*b ]]\n[[ $x =~ ^(a|aa)+$ ]]",
    "many branches": "if [ $U = 0 ]; then x=0\n" + "elif [ $U = 1 ]; then x=1\n" * 2000 + "fi",
    "many cases": "case $U in\n" + "a) x=1 ;;\n" * 2000 + "esac",
    "nested open conditions": 'if [ "$A" = 1 ]; then x=1\n' * 55 + "fi\n" * 55,
    "wrappers": "nohup " * 20000 + "python3 -m verl.trainer.main_ppo",
    "json": "ray job submit --runtime-env-json='" + '{"a":' * 5000 + "' -- python3 -m verl.trainer.main_ppo a.b=1",
    "wide number": 'printf -v x "%9999d" 1\nx=${x:99999999999999999999}\na[$((1<<62))]=1',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_answered(name):
    script = read_script(HOSTILE[name] + "\n", "run.sh")
    assert script.launches == [] or name in ("wrappers", "json")


def test_what_was_read_before_a_cap_is_kept(read):
    script = read("show a\n" + "for i in {1..900}; do for j in {1..900}; do x=$i; done; done\nshow b")
    assert script.commands[0].argv[1].text == "a"
    (lint,) = script.lints
    assert (lint.rule, lint.severity) == ("shell-limit", "warning")
    assert str(limits.MAX_SHELL_STEPS) in lint.message


def test_too_large_a_text_is_refused():
    with pytest.raises(InputError, match=r"big\.sh: .* characters are too many"):
        read_script("a\n" * limits.MAX_CONFIG_BYTES, "big.sh")
    with pytest.raises(InputError, match="is not shell"):
        read_script("a" * (limits.MAX_LINE_CHARS + 1), "big.sh")


@pytest.mark.parametrize(
    "text", ["", "\n", "\0", "#", "\\", "'", '"', "$", "`", "((", "[[", "{", "<", "a=", "a=(", "é¨\u2028"]
)
def test_tiny_texts(text):
    assert read_script(text, "run.sh").launches == []
