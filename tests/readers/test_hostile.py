"""Hostile input: every reader answers within seconds, with a document or one clear line."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_guard.configs.compose import ProjectLoader, compose
from grpo_guard.configs.files import decode, printable, read_text
from grpo_guard.configs.flat_text import read_pairs
from grpo_guard.configs.fragment import read_fragment
from grpo_guard.configs.hydra import interpolate, parse_omegaconf_cli, parse_override
from grpo_guard.configs.json_text import read_json
from grpo_guard.configs.python_calls import read_python
from grpo_guard.configs.requirements import read_requirements
from grpo_guard.configs.toml_text import read_toml
from grpo_guard.configs.values import InputError, Unresolved
from grpo_guard.configs.yaml_text import parse_value, read_yaml, yaml11_lints
from grpo_guard.limits import MAX_CONFIG_BYTES

READERS = {
    "yaml": lambda text: read_yaml(text, "x.yaml"),
    "yaml11": lambda text: read_yaml(text, "x.yaml", float_rule="yaml11"),
    "json": lambda text: read_json(text, "x.json"),
    "toml": lambda text: read_toml(text, "x.toml"),
    "python": lambda text: read_python(text, "x.py"),
    "pairs": lambda text: read_pairs(text, "x"),
    "requirements": lambda text: read_requirements(text, "requirements.txt"),
    "lock": lambda text: read_requirements(text, "uv.lock"),
    "pyproject": lambda text: read_requirements(text, "pyproject.toml"),
    "conda": lambda text: read_requirements(text, "environment.yml"),
    "fragment": lambda text: read_fragment(text, "<text>"),
    "override": parse_override,
    "omegaconf": parse_omegaconf_cli,
    "value": parse_value,
}

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)
MERGE_BOMB = "a0: &a0 {k: 1}\n" + "".join(
    f"a{n}: &a{n} {{p: *a{n - 1}, q: *a{n - 1}, r: {{<<: *a{n - 1}}}}}\n" for n in range(1, 30)
)

HOSTILE = {
    "empty": "",
    "blank lines": "\n \n\t\n",
    "only comments": "# a\n# b\n",
    "byte order mark": "\ufeffa: 1\n",
    "CRLF": "a: 1\r\nb:\r\n  c: 2\r\n",
    "NUL": "a: \0b\n",
    "control characters": "a: \x1b[31mred\x07\nb: \x85\u2028\n",
    "lone surrogates": 'a: "\ud800"\n\udfff: 1\n',
    "escaped surrogate": '{"a": "\\ud800", "\\udfff": 1}',
    "100k brackets": "[" * 100_000,
    "100k braces with keys": '{"a":' * 100_000,
    "100k flow mappings": "{a: " * 100_000,
    "100k list dashes": "- " * 99_000,
    "deep indents": "".join(" " * n + f"k{n}:\n" for n in range(2_000)),
    "deep brackets over lines": "[\n" * 100_000,
    "deep parentheses": "f(" * 100_000,
    "unary chain": "GRPOConfig(x=" + "-" * 150_000 + "1)",
    "long sum": "GRPOConfig(x=" + "1+" * 90_000 + "1)",
    "attribute chain": "GRPOConfig(x=a" + ".b" * 90_000 + ")",
    "power tower": "GRPOConfig(x=9**9**9**9, y=10**10**10, z='a'*10**10, w=[1]*10**9)",
    "constants in a circle": "a = b\nb = a\nGRPOConfig(x=a, y=b)\n",
    "doubling constants": "a0 = 'xxxxxxxxxx'\n"
    + "".join(f"a{n} = a{n - 1} + a{n - 1}\n" for n in range(1, 60))
    + "GRPOConfig(x=a59)\n",
    "elif chain": "if a:\n  pass\n" + "elif b:\n  pass\n" * 20_000,
    "alias bomb": BOMB,
    "merge bomb": MERGE_BOMB,
    "cycle": "a: &a [*a]\n",
    "cycle through a mapping": "a: &a\n  b: {<<: *a}\n",
    "a million aliases": "x: &x 1\ny: [" + "*x," * 1_000_000 + "]\n",
    "aliases over lines": "x: &x 1\n" + "- *x\n" * 100,
    "many anchors": "".join(f"a{n}: &a{n} 1\n" for n in range(50_000)),
    "unknown alias": "a: *nope\n",
    "5 MB line": "a: " + "x" * 4_900_000,
    "5 MB line of commas": "a=" + "1," * 2_400_000,
    "over the size cap": "a: 1\n" * (MAX_CONFIG_BYTES // 5 + 2),
    "50k duplicate keys": "a: 1\n" * 50_000,
    "50k duplicate JSON keys": "{" + '"a": 1,' * 50_000 + '"b": 2}',
    "50k keys": "".join(f"key_{n}: {n}\n" for n in range(50_000)),
    "50k pairs": "|".join(f"k{n}={n}" for n in range(50_000)),
    "huge integer": "a: " + "9" * 5_000 + "\n",
    "huge JSON integer": '{"a": ' + "9" * 5_000 + "}",
    "huge TOML integer": "a = " + "9" * 5_000 + "\n",
    "huge sexagesimal": "a: 1" + ":59" * 50_000 + "\n",
    "huge exponent": '{"a": 1e999999999, "b": -1e999999999}',
    "python tag": "a: !!python/object/apply:os.system ['touch /tmp/x']\n",
    "unclosed quote": "a: 'x\n" + "b: 1\n" * 1_000,
    "unclosed JSON string": '{"a": "' + "x\n" * 1_000,
    "unclosed comment": '{"a": 1} /* ' + "x" * 100_000,
    "quotes only": "\"'" * 50_000,
    "backslashes": "k='" + "\\" * 100_000,
    "backslashes and quotes": "k=" + "\\'" * 50_000,
    "override of 100k brackets": "k=" + "[" * 100_000,
    "override of 100k parts": "k=" + "a:" * 50_000,
    "interpolations": "k=" + "${" * 50_000,
    "closed interpolations": "k=" + "${" * 40_000 + "}" * 40_000,
    "long key": "a." * 50_000 + "b=1",
    "TOML dotted key": "a" + ".a" * 90_000 + " = 1\n",
    "TOML nested arrays": "a = " + "[" * 50_000 + "]" * 50_000,
    "TOML arrays over lines": "a = " + "[\n" * 50_000,
    "TOML many tables": "".join(f"[t{n}.u.v]\na = 1\n" for n in range(10_000)),
    "a run of blanks in a value": "a = x" + " " * 150_000 + "y\n",
    "a run of blanks before a value": "a =" + " " * 150_000 + "y\nb:" + " " * 150_000 + "y\n",
    "a run of blanks in a header": "[a" + " " * 150_000 + "x\n",
    "blanks before a comment": "a = 1" + " " * 150_000 + "#\n",
    "indented blanks": " " * 150_000 + "x" + " " * 40_000 + "y\n",
    "a run of word characters": "a" * 190_000 + "\n" + "a-" * 90_000 + "!\n",
    "a run of quotes and blanks": "a = '" + "' '" * 60_000,
    "a run of opening angle brackets": '{"a": ' + "<" * 100_000,
    "a run of opening templates": '{"a": ' + "${" * 90_000,
    "many equal signs": "=" * 100_000,
    "many dashes": "-" * 100_000 + "\n--a " * 20_000,
    "requirement lines": "a==1 " * 40_000,
    "requirement of dots": "a." * 50_000 + "==1",
    "lock file": '[[package]]\nname = "torch"\nversion = "2.6.0"\n' * 50_000,
    "template": "lr: {{lr}}\nx: {{ a.b }}\n{{c}}: 1\n",
    "mixed tabs": "a:\n\tb: 1\n  c: 2\n",
    "tabs between tokens": "a:\t1\n" * 20_000,
    "right-to-left override": "a: \u202egnp.exe\n",
    "not text": "\x00\x01\x02\xff\xfe" * 1_000,
    "HTML": "<html><body>404</body></html>",
    "truncated": '{"zero_optimization": {"stage": 2, "overlap',
    "notebook of nonsense": '{"cells": [{"cell_type": "code", "source": [1, {"a": 2}, "x = ("]}, 7, null]}',
    "notebook without cells": '{"cells": 3}',
    "YAML directive": "%YAML 9.9\n---\na: 1\n",
    "empty documents": "---\n" * 1_000,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_answered(reader, name):
    try:
        READERS[reader](HOSTILE[name])
    except InputError as error:
        assert "\n" not in str(error)
        assert printable(error, 10_000) == str(error), "control characters in a message"
        assert len(str(error)) < 400


def test_messages_never_carry_control_characters():
    text = 'a: 1\n"a\x1b[31m\u202e": 1\n"a\x1b[31m\u202e": 2\nb: !x\x1b 1\n'
    for reader in ("yaml", "fragment"):
        try:
            document = READERS[reader](text)
        except InputError as error:
            assert "\x1b" not in str(error)
        else:
            for message in (*document.notes, *(lint.message for lint in document.lints)):
                assert printable(message, 10_000) == message


def test_the_alias_bomb_is_counted_not_built():
    with pytest.raises(InputError, match="more than 200,000 values"):
        read_yaml(BOMB, "bomb.yaml")


def test_a_cycle_is_named():
    with pytest.raises(InputError, match=r"c\.yaml line 1: anchor &a contains itself"):
        read_yaml("a: &a [*a]\n", "c.yaml")


def test_depth_is_capped_just_above_the_limit():
    assert read_yaml("[" * 60 + "]" * 60, "x").data is not None
    with pytest.raises(InputError, match="nested deeper than 60 levels"):
        read_yaml("[" * 61 + "]" * 61, "x")
    assert read_json("[" * 60 + "]" * 60, "x").data is not None
    with pytest.raises(InputError, match="nested deeper than 60 levels"):
        read_json("[" * 61 + "]" * 61, "x")


class TestFiles:
    def test_a_fifo_does_not_hang(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="is a FIFO, not a regular file; save the text to a file first"):
            read_text(tmp_path / "pipe")

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("/dev/zero", "/dev/zero: is a device, not a regular file; save the text to a file first"),
            ("/dev", "/dev: is a directory; name a file in it"),
            ("/nowhere/x.yaml", "/nowhere/x.yaml: no such file; check the path"),
            ("a\0b", "a\N{REPLACEMENT CHARACTER}b: not a file name; check the path"),
            ("x" * 5_000, "cannot be read"),
        ],
    )
    def test_what_is_no_file_says_so(self, path, message):
        with pytest.raises(InputError) as raised:
            read_text(Path(path))
        assert message in str(raised.value)

    def test_a_link_to_itself(self, tmp_path):
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with pytest.raises(InputError, match="cannot be read"):
            read_text(tmp_path / "loop")

    def test_too_large(self, tmp_path):
        with (tmp_path / "big.yaml").open("wb") as file:
            file.truncate(MAX_CONFIG_BYTES + 1)
        with pytest.raises(InputError, match="larger than 5,000,000 bytes"):
            read_text(tmp_path / "big.yaml")

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"", ""),
            (b"a: 1\r\n", "a: 1\r\n"),
            ("\ufeffä".encode(), "ä"),
            ("ä".encode("utf-16"), "ä"),
            ("\ufeffä".encode("utf-16-be"), "ä"),
            ("ä".encode("utf-32"), "ä"),
            (b"caf\xe9", "café"),
        ],
    )
    def test_encodings(self, data, text):
        assert decode(data) == text

    @pytest.mark.parametrize("data", [b"a\0b", b"\x7fELF\0", "a".encode("utf-16-le"), bytes(range(256)) * 4])
    def test_binary(self, data):
        with pytest.raises(InputError, match="binary data"):
            decode(data)

    def test_broken_utf16(self):
        with pytest.raises(InputError, match=r"not UTF-16-LE .* save the file as UTF-8"):
            decode(b"\xff\xfea")


class TestInterpolation:
    def test_a_chain_of_many_references(self):
        tree = {f"k{n}": f"${{k{n + 1}}}" for n in range(10_000)}
        tree["k10000"] = 1
        resolved = interpolate(tree)
        assert resolved["k9999"] == 1
        assert isinstance(resolved["k0"], Unresolved)  # deeper than any config: left open, not wrong

    def test_doubling_texts_stay_small(self):
        tree = {"k0": "x" * 10} | {f"k{n}": f"${{k{n - 1}}}${{k{n - 1}}}" for n in range(1, 60)}
        assert isinstance(interpolate(tree)["k59"], Unresolved)

    def test_doubling_nodes_stay_small(self):
        tree = {"k0": {"x": 1}} | {f"k{n}": {"a": f"${{k{n - 1}}}", "b": f"${{k{n - 1}}}"} for n in range(1, 40)}
        assert interpolate(tree)["k0"] == {"x": 1}

    def test_deep_brackets(self):
        assert isinstance(interpolate({"a": "${" * 5_000 + "}" * 5_000})["a"], Unresolved)


class TestComposition:
    def test_files_outside_the_project_are_not_read(self, tmp_path):
        project = tmp_path / "project"
        project.mkdir()
        (tmp_path / "secret.yaml").write_text("token: x\n")
        (project / "link.yaml").symlink_to(tmp_path / "secret.yaml")
        for name in ("../secret", "link", "../../../../etc/hostname", str(tmp_path / "secret")):
            document = read_yaml(f"defaults:\n- {name}\n- _self_\na: 1\n", str(project / "config.yaml"))
            composed = compose(document, ProjectLoader(project, document))
            assert composed.data == {"a": 1}
            assert len(composed.missing) == 1

    def test_a_circle_of_defaults_ends(self, tmp_path):
        (tmp_path / "config.yaml").write_text("defaults: [other]\na: 1\n")
        (tmp_path / "other.yaml").write_text("defaults: [config, config]\nb: 1\n")
        document = read_yaml((tmp_path / "config.yaml").read_text(), str(tmp_path / "config.yaml"))
        composed = compose(document, ProjectLoader(tmp_path, document))
        assert composed.data == {"a": 1, "b": 1}
        assert any("a cycle?" in note for note in composed.notes)

    def test_a_broken_parent_is_a_note(self, tmp_path):
        (tmp_path / "other.yaml").write_text("a: [\n")
        document = read_yaml("defaults: [other]\na: 1\n", str(tmp_path / "config.yaml"))
        composed = compose(document, ProjectLoader(tmp_path, document))
        assert composed.data == {"a": 1}
        assert any("broken YAML" in note for note in composed.notes)


# Pieces of every syntax, so that random text comes near to valid input.
PIECES = st.sampled_from(
    [
        *"abknr01:=,.|&*#'\"[]{}()<>-+~!@%$\\/ \n\t\r\0\x1b\u2028\ud800é?;_",
        *(
            "lr",
            "-1",
            "1e-6",
            "true",
            "null",
            "None",
            "--",
            "${a}",
            "${.b}",
            "???",
            "...",
            "<<: ",
            "&x ",
            "*x",
            "!!str ",
        ),
        *(
            "GRPOConfig(",
            "LLM(",
            "**x",
            "f'{a}'",
            "[[package]]\n",
            "[t]\n",
            "name = 'a'\n",
            "version = '1'\n",
            ">=",
            "==",
        ),
        *(
            "defaults: [a]\n",
            "_self_",
            "os.environ[",
            "lambda: ",
            " if ",
            " else ",
            "for ",
            "def ",
            "class ",
            "import ",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join) | st.text(max_size=80)


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=120, deadline=None)
@given(text=TEXTS)
def test_readers_raise_nothing_but_input_error(reader, text):
    try:
        result = READERS[reader](text)
    except InputError as error:
        assert printable(error, 10_000) == str(error)
        return
    for document in result if isinstance(result, list) else [result]:
        data = getattr(document, "data", None)
        if isinstance(data, dict):
            interpolate(data)
        if reader == "yaml":
            yaml11_lints(document)


@settings(max_examples=120, deadline=None)
@given(text=TEXTS)
def test_same_text_same_answer(text):
    assert repr(read_fragment(text, "x")) == repr(read_fragment(text, "x"))


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_decode_raises_nothing_but_input_error(data):
    try:
        text = decode(data)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        text.encode()
