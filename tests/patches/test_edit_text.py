"""One change in a text: the intended value is read back, and every other line is byte-identical.

The texts are drawn: nesting, quoting, comments, blank lines, line ends and where a value is written vary.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_guard.configs.json_text import read_json
from grpo_guard.configs.python_calls import read_python
from grpo_guard.configs.reading import read_text_as
from grpo_guard.configs.toml_text import read_toml
from grpo_guard.configs.yaml_text import plain_scalar, read_yaml
from grpo_guard.edits.change import ADD, REMOVE, RENAME, SET, Change, NotEditable
from grpo_guard.edits.text import edit_text

NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(lambda name: plain_scalar(name) == name)
WORDS = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,8}", fullmatch=True).filter(lambda word: plain_scalar(word) == word)
FLOATS = st.floats(1e-9, 1e9, allow_nan=False).map(lambda value: float(f"{value:.3g}"))
TEXTS = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=6)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**9), FLOATS, WORDS, TEXTS)
PLAIN = st.one_of(st.booleans(), st.integers(0, 10**9), FLOATS, WORDS)
TREES = st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=4), max_leaves=12)
MAPPINGS = st.dictionaries(NAMES, TREES, min_size=1, max_size=5)
COMMENTS = st.sampled_from(["", "  # é 雪 note", "   # n: 8 'x'"])
ENDS = st.sampled_from(["\n", "\r\n"])


def leaves(tree: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    return [
        leaf
        for key, value in tree.items()
        for leaf in (leaves(value, (*path, key)) if isinstance(value, dict) else [(*path, key)])
    ]


def with_value(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    head, *rest = path
    return {**tree, head: with_value(tree[head], tuple(rest), value) if rest else value}


def changed_lines(old: str, new: str) -> list[int]:
    before, after = old.split("\n"), new.split("\n")
    assert len(before) == len(after)
    return [number for number, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]]


@st.composite
def yaml_texts(draw: Any) -> tuple[str, dict[str, Any]]:
    tree, end = draw(MAPPINGS), draw(ENDS)
    step = draw(st.sampled_from(["  ", "    "]))
    lines: list[str] = [draw(st.sampled_from(["# head: 1", "---", ""]))]

    def scalar(value: Any) -> str:
        styles = [json.dumps(value, ensure_ascii=True)]
        if isinstance(value, str) and value.isprintable():
            styles.append("'" + value.replace("'", "''") + "'")
        if (
            isinstance(value, str)
            and value.isascii()
            and value.replace("_", "").isalnum()
            and plain_scalar(value) == value
        ):
            styles.append(value)
        if isinstance(value, bool):
            styles += [str(value), "on" if value else "off"]
        return draw(st.sampled_from(styles))

    def write(mapping: dict[str, Any], indent: str) -> None:
        for key, value in mapping.items():
            if draw(st.booleans()):
                lines.append(draw(st.sampled_from(["", f"{indent}# {key}: not this one"])))
            name = draw(st.sampled_from([key, f'"{key}"']))
            if isinstance(value, dict) and draw(st.integers(0, 3)):
                lines.append(f"{indent}{name}:{draw(COMMENTS)}")
                write(value, indent + step)
            elif isinstance(value, dict):
                lines.append(f"{indent}{name}: {json.dumps(value, ensure_ascii=True)}{draw(COMMENTS)}")
            else:
                lines.append(f"{indent}{name}:{draw(st.sampled_from([' ', '   ']))}{scalar(value)}{draw(COMMENTS)}")

    write(tree, "")
    return end.join(lines) + draw(st.sampled_from(["", end])), tree


@given(yaml_texts(), SCALARS | st.text(max_size=6), st.data())
def test_yaml_keeps_all_but_the_value(drawn: tuple[str, dict[str, Any]], value: Any, data: st.DataObject) -> None:
    text, tree = drawn
    document = read_yaml(text, "a.yaml")
    assert document.data == tree
    path = data.draw(st.sampled_from(leaves(tree)))
    entry = next(entry for entry in document.entries if entry.key == ".".join(path))
    edited = edit_text(text, "yaml", Change(SET, entry.key, entry.line, value, entry.value))
    assert read_yaml(edited, "a.yaml").data == with_value(tree, path, value)
    assert set(changed_lines(text, edited)) <= {entry.line}
    comment = text.split("\n")[entry.line - 1].partition("  #")[2]
    assert edited.split("\n")[entry.line - 1].endswith(comment)


@st.composite
def json_texts(draw: Any) -> tuple[str, dict[str, Any]]:
    tree = draw(MAPPINGS)
    text = json.dumps(tree, indent=draw(st.sampled_from([None, 2, "\t"])), ensure_ascii=draw(st.booleans()))
    lines = [line + draw(st.sampled_from(["", "", " // n: 8"])) for line in text.split("\n")]
    return draw(ENDS).join(lines), tree


@given(json_texts(), SCALARS | st.text(max_size=6), st.data())
def test_json_keeps_all_but_the_value(drawn: tuple[str, dict[str, Any]], value: Any, data: st.DataObject) -> None:
    text, tree = drawn
    document = read_json(text, "a.json")
    path = data.draw(st.sampled_from(leaves(tree)))
    entry = next(entry for entry in document.entries if entry.key == ".".join(path))
    edited = edit_text(text, "json", Change(SET, entry.key, entry.line, value, entry.value))
    assert read_json(edited, "a.json").data == with_value(tree, path, value)
    assert set(changed_lines(text, edited)) <= {entry.line}


ARGUMENTS = st.lists(
    st.tuples(st.lists(NAMES, min_size=2, max_size=3), PLAIN), min_size=2, max_size=6, unique_by=lambda x: tuple(x[0])
)


def word(value: Any) -> str:
    return str(value)


@st.composite
def scripts(draw: Any) -> tuple[str, list[str], int]:
    """A script, the keys that it sets, and the number of the one to change, which may come from a variable."""
    drawn = draw(ARGUMENTS)
    keys, target = [".".join(path) for path, _ in drawn], draw(st.integers(0, len(drawn) - 1))
    style = draw(st.sampled_from(["array", "continued", "string", "one line"]))
    head, words = ["#!/bin/bash", "set -x  # n=8"], []
    for number, (key, (_, value)) in enumerate(zip(keys, drawn, strict=True)):
        written = word(value)
        quoted = (
            [f"{key}={written}"]
            if style == "string"
            else [f"{key}={written}", f"{key}='{written}'", f"'{key}={written}'", f'{key}="{written}"']
        )
        shown = draw(st.sampled_from(quoted))
        if number == target and draw(st.booleans()):
            name = draw(st.sampled_from(["N", "rollout_n"]))
            head.append(
                draw(
                    st.sampled_from(
                        [
                            f"{name}={written}",
                            f"export {name}='{written}'  # how many",
                            f"{name}=${{{name}:-{written}}}",
                        ]
                    )
                )
            )
            shown = draw(
                st.sampled_from(
                    [
                        f"{key}=${name}",
                        f"{key}=${{{name}}}",
                        f'"{key}=${{{name}}}"' if style != "string" else f"{key}=${name}",
                    ]
                )
            )
        words.append(shown)
    launch = "python3 -m verl.trainer.main_ppo"
    if style == "array":
        body = ["ARGS=(", *(f"    {shown}{draw(COMMENTS)}" for shown in words), ")", f'{launch} "${{ARGS[@]}}"']
    elif style == "continued":
        body = [f"{launch} \\", *(f"    {shown} \\" for shown in words[:-1]), f"    {words[-1]}"]
    elif style == "string":
        body = ['ARGS="', *words, '"', f"{launch} $ARGS"]
    else:
        body = [f"{launch} {' '.join(words)}"]
    return draw(ENDS).join([*head, *body, "echo done", ""]), keys, target


def settings(text: str) -> list[tuple[str, Any, int]]:
    (launch,) = read_text_as(text, "run.sh", "shell", None).launches
    return [(entry.key, entry.value, entry.line) for part in launch for entry in part.entries]


@given(scripts(), PLAIN)
def test_shell_keeps_all_but_the_value(drawn: tuple[str, list[str], int], value: Any) -> None:
    text, keys, target = drawn
    before = settings(text)
    key, old, line = before[target]
    assert key == keys[target]
    edited = edit_text(text, "shell", Change(SET, key, line, value, old))
    after = settings(edited)
    assert [row[0] for row in after] == keys
    assert after[target][1] == value
    assert [row for row in after if row[0] != key] == [row for row in before if row[0] != key]
    assert len(changed_lines(text, edited)) <= 1


@pytest.mark.parametrize(
    ("text", "key", "value", "edited"),
    [
        ("trl grpo --lr 1e-5 --beta 0.1\n", "--lr", 2e-5, "trl grpo --lr 2.0e-05 --beta 0.1\n"),
        ("trl grpo --lr=1e-5\n", "--lr", 1.0, "trl grpo --lr=1.0\n"),
        ("trl grpo --lr \\\n  1e-5\n", "--lr", 1.0, "trl grpo --lr \\\n  1.0\n"),
        ("trl grpo --bf16 True \\\n  --fp16\n", "--bf16", False, "trl grpo --bf16 False \\\n  --fp16\n"),
        ("trl grpo --bf16 \\\n  --fp16 \\\n  --n 8\n", "--fp16", False, "trl grpo --bf16 \\\n  --n 8\n"),
        ("trl grpo --n 8 \\\n  --fp16\n\necho\n", "--fp16", False, "trl grpo --n 8\n\necho\n"),
        ("ARGS=(\n --n 8\n --fp16  # half\n)\ntrl grpo ${ARGS[@]}\n", "--n", 4, None),
        ("N=${N:-8}\ntrl grpo --n $N\n", "--n", 4, "N=${N:-4}\ntrl grpo --n $N\n"),
        ("trl grpo --n ${N:-8}\n", "--n", 4, "trl grpo --n ${N:-4}\n"),
        ("N=${GROUP:-8}\ntrl grpo --n $N\n", "--n", 4, "N=${GROUP:-4}\ntrl grpo --n $N\n"),
        ("N=${1:-8}\ntrl grpo --n $N\n", "--n", 4, "N=${1:-4}\ntrl grpo --n $N\n"),
    ],
)
def test_flags(text: str, key: str, value: Any, edited: str | None) -> None:
    _, old, line = next(row for row in settings(text) if row[0] == key)
    assert edit_text(text, "shell", Change(SET, key, line, value, old)) == (edited or text.replace("--n 8", "--n 4"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("N=8\ntrl grpo --n $N --name run-$N\n", "the variable N, which is used 2 times"),
        ("N=8\ntrl grpo --n $N --m $((N * 2))\n", "the variable N, which is used 2 times"),
        ("N=8\nN=9\ntrl grpo --n $N\n", "the variable N, which is assigned 2 times"),
        ("trl grpo --n $N\n", "the variable N, which is assigned nowhere in this file"),
        ("trl grpo --n $((4 * 2))\n", "the value is put together from several pieces"),
        ("M=8\nN=${M:-4}\ntrl grpo --n $N\n", "the variable N is not assigned a plain value"),
        ("M=8\nN=$M\ntrl grpo --n $N\n", "the variable N is not assigned a plain value"),
        ("N=4\ntrl grpo --n ${N}8\n", "the value is an expression"),
        ("trl grpo --n 8 --n 9\n", "--n is written 2 times at line 1"),
    ],
)
def test_what_is_not_edited_in_a_script_says_why(text: str, reason: str) -> None:
    _, old, line = next(row for row in settings(text) if row[0] == "--n")
    with pytest.raises(NotEditable, match=reason.replace("(", r"\(").replace("$", r"\$")):
        edit_text(text, "shell", Change(SET, "--n", line, 4, old))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: &x 1\nb: *x\n", 1, "the value is the anchor &x"),
        ("b: &x 1\na: *x\n", 2, "the value is taken from the anchor &x"),
        ("a: |\n  1\n", 1, "goes over several lines"),
        ("a: [1]\n", 1, "a list or a mapping"),
        ("a: !!int 1\n", 1, "carries the tag"),
        ("<<: {a: 1}\n", 1, "not written out at line 1"),
        ("- a: 1\n", 1, "not written out at line 1"),
    ],
)
def test_what_is_not_edited_in_yaml_says_why(text: str, line: int, reason: str) -> None:
    with pytest.raises(NotEditable, match=reason):
        edit_text(text, "yaml", Change(SET, "a", line, 2, 1))


ADDED = [
    ("yaml", "a:\n  b: 1  # x\n  c: [1]\nd: 2\n", "a.e", "a.b", 1, "a:\n  b: 1  # x\n  e: true\n  c: [1]\nd: 2\n"),
    ("yaml", "a: {b: 1}  # x\n", "a.e", "a.b", 1, "a: {b: 1, e: true}  # x\n"),
    ("json", '{\n  "b": 1\n}', "e", "b", 2, '{\n  "b": 1,\n  "e": true\n}'),
    ("json", '{\r\n  "b": 1,\r\n  "c": 2\r\n}', "e", "b", 2, '{\r\n  "b": 1,\r\n  "e": true,\r\n  "c": 2\r\n}'),
    ("json", '{"a": {"b": 1}}', "a.e", "a.b", 1, '{"a": {"b": 1, "e": true}}'),
    ("shell", "run a.b=1 \\\n  a.c=2\n", "a.e", "a.c", 2, "run a.b=1 \\\n  a.c=2 \\\n  a.e=true\n"),
    ("shell", "run \\\n  a.b=1 \\\n  a.c=2\n", "a.e", "a.b", 2, "run \\\n  a.b=1 \\\n  a.e=true \\\n  a.c=2\n"),
    ("shell", "run a.b=1 a.c=2\n", "a.e", "a.b", 1, "run a.b=1 a.e=true a.c=2\n"),
    ("shell", "run 'a.b=1' a.c=2\n", "a.e", "a.b", 1, "run 'a.b=1' a.e=true a.c=2\n"),
    ("shell", "X=(\n  a.b='1'\n)\nrun ${X[@]}\n", "a.e", "a.b", 2, "X=(\n  a.b='1'\n  a.e=true\n)\nrun ${X[@]}\n"),
    ("shell", 'X="a.b=1"\nrun $X\n', "a.e", "a.b", 1, 'X="a.b=1 a.e=true"\nrun $X\n'),
    ("python", "f(b=1,  # x\n  c=2)", "e", "b", 1, "f(b=1, e=True,  # x\n  c=2)"),
]


@pytest.mark.parametrize(("format", "text", "key", "near", "line", "edited"), ADDED)
def test_a_new_setting_stands_beside_its_neighbour(
    format: str, text: str, key: str, near: str, line: int, edited: str
) -> None:
    assert edit_text(text, format, Change(ADD, key, value=True, old=1, near=near, near_line=line)) == edited


REMOVED = [
    ("yaml", "a:\n  b: 1  # x\n  c: 2\n", "a.b", 2, "a:\n  c: 2\n"),
    ("json", '{\n  "a": 1,\n  "b": 2\n}\n', "b", 3, '{\n  "a": 1\n}\n'),
    ("json", '{\n  "b": 1,\n  "a": 2\n}\n', "b", 2, '{\n  "a": 2\n}\n'),
    ("toml", "b = 1  # x\na = 2\n", "b", 1, "a = 2\n"),
    ("shell", "run a.a=1 \\\n  a.b=2 \\\n  a.c=3\n", "a.b", 2, "run a.a=1 \\\n  a.c=3\n"),
    ("shell", "run a.a=1 \\\n  a.b=2\necho\n", "a.b", 2, "run a.a=1\necho\n"),
    ("shell", "run a.a=1 '+a.b=2' a.c=3\n", "a.b", 1, "run a.a=1 a.c=3\n"),
]


@pytest.mark.parametrize(("format", "text", "key", "line", "edited"), REMOVED)
def test_a_setting_goes_with_its_line(format: str, text: str, key: str, line: int, edited: str) -> None:
    assert edit_text(text, format, Change(REMOVE, key, line, old=1)) == edited


RENAMED = [
    ("yaml", "a:\n  'b': 1  # b\n", "a.b", "a.e", 2, "a:\n  'e': 1  # b\n"),
    ("json", '{"a": {"b": 1}}', "a.b", "a.e", 1, '{"a": {"e": 1}}'),
    ("toml", "[a]\nb = 1\n", "a.b", "a.e", 2, "[a]\ne = 1\n"),
    ("shell", "run a.b=1 c.a.b=2\n", "a.b", "x.y.e", 1, "run x.y.e=1 c.a.b=2\n"),
    ("shell", "trl grpo --b 1\n", "--b", "--e", 1, "trl grpo --e 1\n"),
    ("python", "f(b=1)", "b", "e", 1, "f(e=1)"),
]


@pytest.mark.parametrize(("format", "text", "key", "new", "line", "edited"), RENAMED)
def test_a_key_is_renamed_in_place(format: str, text: str, key: str, new: str, line: int, edited: str) -> None:
    assert edit_text(text, format, Change(RENAME, key, line, old=1, new_key=new)) == edited


def test_a_rename_into_another_section_of_a_file_is_left_to_the_user() -> None:
    with pytest.raises(NotEditable, match="belongs to another section"):
        edit_text("a:\n  b: 1\nc:\n  d: 1\n", "yaml", Change(RENAME, "a.b", 2, new_key="c.b"))


@pytest.mark.parametrize("value", [True, 7, 0.5, "word", 1e-6])
def test_toml_and_python_read_the_new_value(value: Any) -> None:
    toml = edit_text('# n = 1\n[a]\nn = "x"  # n\n', "toml", Change(SET, "a.n", 3, value, "x"))
    assert read_toml(toml, "a.toml").data == {"a": {"n": value}}
    assert toml.startswith("# n = 1\n[a]\nn = ")
    assert toml.endswith("  # n\n")
    python = edit_text("args = GRPOConfig(é='雪', n='x', m=2)\n", "python", Change(SET, "n", 1, value, "x"))
    (call,) = read_python(python, "a.py")
    assert {entry.key: entry.value for entry in call.entries} == {"é": "雪", "n": value, "m": 2}
