"""What bash makes of the words of a command. Every expectation was compared with bash 5.2."""

from __future__ import annotations

import pytest

CASES = {
    # quoting
    "single quotes keep everything": ("""show 'a  $b "c"'""", ['a  $b "c"']),
    "double quotes expand and do not split": ('x="a  b"; show "$x"', ["a  b"]),
    "quotes join with their neighbours": ("""x=1; show a'b c'"$x"d""", ["ab c1d"]),
    "backslash keeps a character": (r"show a\ b \$x \"", ["a b", "$x", '"']),
    "backslash in double quotes keeps only special ones": (r'show "a\"b\$c\d"', [r'a"b$c\d']),
    "ansi quotes": (r"show $'a\tb\n\x41'", ["a\tb\nA"]),
    "empty quotes are an argument": ("""x=; show "" '' "$x" end""", ["", "", "", "end"]),
    "empty expansion is no argument": ("x=; show $x end", ["end"]),
    "a list in quotes": ("""show trainer.logger='["console","wandb"]'""", ['trainer.logger=["console","wandb"]']),
    # splitting
    "a string of flags is split": ('f="--a 1  --b=2"; show $f', ["--a", "1", "--b=2"]),
    "split text joins its neighbours": ('x="1 2"; show a$x', ["a1", "2"]),
    "IFS": ("IFS=,; x=a,b,,c; show $x", ["a", "b", "", "c"]),
    # defaults
    "default for an unset name": ("show ${X:-8} ${X-9}", ["8", "9"]),
    "default for an empty name": ("x=; show ${x:-8} a${x-9}", ["8", "a"]),
    "nested defaults": ("show ${A:-${B:-$((4*2))}/x}", ["8/x"]),
    "assigning default": ("show ${n:=5} $n; show $n", ["5"]),
    "alternative": ("x=1; y=; show ${x:+a} ${y:+b} c${y+d}", ["a", "cd"]),
    "a default with blanks is split outside quotes": ("show ${X:-a b}", ["a", "b"]),
    "quotes in a default inside quotes": ("""show "${X:-'a b'}" ${X:-'a b'}""", ["'a b'", "a b"]),
    # text operators
    "length": ("x=hello; show ${#x}", ["5"]),
    "remove a prefix": ("x=a/b/c; show ${x#*/} ${x##*/}", ["b/c", "c"]),
    "remove a suffix": ("x=a.b.c; show ${x%.*} ${x%%.*}", ["a.b", "a"]),
    "replace": (
        "x=a-b-c; show ${x/-/_} ${x//-/_} ${x//-} ${x/#a/z} ${x/%c/z}",
        ["a_b-c", "a_b_c", "abc", "z-b-c", "a-b-z"]),
    "replace a slash": (r"x=Qwen/Qwen3; show ${x//\//_}", ["Qwen_Qwen3"]),
    "substring": ("x=abcdef; show ${x:2} ${x:1:3} ${x: -2} ${x:0:-1}", ["cdef", "bcd", "ef", "abcde"]),
    "case": ("x=aBc; show ${x^^} ${x,,} ${x^}", ["ABC", "abc", "ABc"]),
    "indirection": ("a=b; b=7; show ${!a}", ["7"]),
    # arrays
    "array items stay apart": ('a=(x "y z"); show "${a[@]}"', ["x", "y z"]),
    "array in one word": ('a=(x y); show "${a[*]}"', ["x y"]),
    "array between text": ('a=(1 2 3); show "<${a[@]}>"', ["<1", "2", "3>"]),
    "empty array is no argument": ('a=(); show "${a[@]}" end', ["end"]),
    "append": (
        "a=(1); a+=(2 3); a[5]=6; show ${a[@]} ${#a[@]} ${!a[@]}",
        ["1", "2", "3", "6", "4", "0", "1", "2", "5"]),
    "item": ("a=(x y z); i=1; show ${a[0]} ${a[i+1]} ${a[-1]} $a", ["x", "z", "z", "x"]),
    "slice": ("a=(1 2 3 4); show ${a[@]:1:2}", ["2", "3"]),
    "operators on every item": ("a=(x.py y.py); show ${a[@]%.py} ${a[@]/#/p-}", ["x", "y", "p-x.py", "p-y.py"]),
    "table": ("declare -A m=([gsm8k]=1 [math]=2); m[aime]=3; show ${m[math]} ${m[aime]}", ["2", "3"]),
    "comments inside an array": ("a=(\n  x # first\n  # y\n  z\n)\nshow ${a[@]}", ["x", "z"]),
    # braces
    "brace list": (
        "show a{b,c}d {1..3} {3..1} {01..03} {a..c}",
        ["abd", "acd", "1", "2", "3", "3", "2", "1", "01", "02", "03", "a", "b", "c"]),
    "brace lists combine": ("show {a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
    "no brace list": ("""show {a} '{a,b}' {"a":1}""", ["{a}", "{a,b}", "{a:1}"]),
    # arithmetic
    "arithmetic": ("n=8; show $((n*2+1)) $((7/2)) $((-7/2)) $((2**10)) $((n>4?1:0))", ["17", "3", "-3", "1024", "1"]),
    "brackets in arithmetic": ("show $(((1024 + 512)*2))", ["3072"]),
    "arithmetic assigns": ("((i=3, i+=2)); let j=i*2; show $i $j $((i++)) $i", ["5", "10", "5", "6"]),
    # command substitution
    "echo": ("show $(echo a  b) \"$(echo 'a  b')\"", ["a", "b", "a  b"]),
    "basename and dirname": (
        "p=/a/b/run.sh; show $(basename $p) $(basename $p .sh) $(dirname $p)",
        ["run.sh", "run", "/a/b"]),
    "backquotes": ("show `echo \\`echo x\\``", ["x"]),
    "seq and expr": ("show $(seq 2 4) $(expr 6 / 2)", ["2", "3", "4", "3"]),
    "pipes of text tools": ("show $(echo A,b | tr ',' '\\n' | tail -1) $(echo a/b | cut -d/ -f1)", ["b", "a"]),
    "sed with plain text": ("show $(echo tests/x | sed 's#tests#src#')", ["src/x"]),
    "printf": ("printf -v x '%03d-%s' 7 b; show $x $(printf '[%s]' a b)", ["007-b", "[a][b]"]),
    # functions and arguments
    "function arguments": ('f() { show "$2" $# "$@"; }; f a "b c"', ["b c", "2", "a", "b c"]),
    "shift": ('f() { shift; show "$@"; }; f a b c', ["b", "c"]),
    "local names": ("x=1; f() { local x=2; }; f; show $x", ["1"]),
    "printed by a function": ("f() { echo $(( $1 * 2 )); }; show $(f 4)", ["8"]),
    "set --": ('set -- a "b c"; show "$2" $#', ["b c", "2"]),
    # input
    "here-string": ('IFS=, read -r a b <<< "1,2,3"; show $a $b', ["1", "2,3"]),
    "array from a string": ('IFS=: read -ra a <<< "x:y"; show "${a[@]}"', ["x", "y"]),
    "here-document": ("n=4\nread -r -d '' c <<EOF\n  --a $n \\\n  --b\nEOF\nshow $c", ["--a", "4", "--b"]),
    "quoted here-document": ("read -r -d '' c <<'EOF'\n$n\nEOF\nshow $c", ["$n"]),
    "lines of a here-document": ("while read -r a b; do s+=$b; done <<EOF\nx 1\ny 2\nEOF\nshow $s", ["12"]),
    # control flow
    "if": ("n=4; if [ $n -gt 8 ]; then x=a; elif [[ $n == 4 ]]; then x=b; else x=c; fi; show $x", ["b"]),
    "case statement": ("m=qwen3-8b; case $m in llama*) x=1 ;; qwen3-*|qwen2*) x=2 ;; *) x=3 ;; esac; show $x", ["2"]),
    "case falls through": ("case a in a) x=1 ;& b) y=2 ;; c) y=3 ;; esac; show $x $y", ["1", "2"]),
    "for": ("for i in 1 2 {3..4}; do s+=$i; done; show $s $i", ["1234", "4"]),
    "counting for": ("for ((i=0; i<3; i++)); do a+=($i); done; show ${a[@]}", ["0", "1", "2"]),
    "while": ("i=0; while (( i < 3 )); do ((i++)); [ $i = 2 ] && break; done; show $i", ["2"]),
    "until": ("i=0; until [ $i -ge 2 ]; do i=$((i+1)); continue; done; show $i", ["2"]),
    "lists": ("[ a = a ] && x=1; [ a = b ] || y=2; ! [ a = b ] && z=3; show $x $y $z", ["1", "2", "3"]),
    "subshell keeps its variables": ("x=1; (x=2); { x=3; }; (x=4); show $x", ["3"]),
    "pattern and regular expression": (
        '[[ abc == a* ]] && x=1; [[ v12 =~ ^v([0-9]+)$ ]] && y=${BASH_REMATCH[1]}; show $x $y',
        ["1", "12"]),
    "test operators": (
        '[ -n "a" -a ! -z "b" ] && x=1; [[ -z "" && ( 2 -lt 3 || a > b ) ]] && y=2; show $x $y',
        ["1", "2"]),
    "eval": ("c='show a b'; eval \"$c $((1+1))\"", ["a", "b", "2"]),
    "unset": ("x=1; unset x; show [${x}] ${x-no}", ["[]", "no"]),
    "continuation": ("show a \\\n  b \\\n  c", ["a", "b", "c"]),
    "comment ends a command": ("show a # b \\\nshow c", ["c"]),
    "hash inside a word": ("show AI/Math#1000", ["AI/Math#1000"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_arguments(name, shown):
    script, expected = CASES[name]
    assert shown(script) == expected


def test_globs_stay_text(shown):
    assert shown("show /data/*.parquet [ab]?") == ["/data/*.parquet", "[ab]?"]


def test_the_caller_sets_the_environment(shown):
    assert shown("show ${DEVICE:-gpu}", variables={"DEVICE": "npu"}) == ["npu"]


def test_the_caller_gives_arguments(shown):
    assert shown('show "$1" "${@:2}" $#', arguments=["a b", "c"]) == ["a b", "c", "2"]


def test_options_are_parsed_when_arguments_are_given(shown):
    script = "n=1\nwhile [[ $# -gt 0 ]]; do case $1 in --n) n=$2; shift 2 ;; *) shift ;; esac; done\nshow $n"
    assert shown(script) == ["1"]
    assert shown(script, arguments=["--n", "4"]) == ["4"]


def test_getopts(shown):
    script = 'n=1\nwhile getopts "n:v" o; do case $o in n) n=$OPTARG ;; esac; done\nshow $n'
    assert shown(script) == ["1"]
    assert shown(script, arguments=["-v", "-n", "4"]) == ["4"]
