"""JSON and TOML: lines, tolerance, and clear refusals."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_guard.configs.json_text import read_json
from grpo_guard.configs.toml_text import read_toml
from grpo_guard.configs.values import InputError, Unresolved

DEEPSPEED = """\
{
  "bf16": {"enabled": "auto"},
  "zero_optimization": {
    "stage": 3,
    "reduce_bucket_size": 2e8,
    "offload_optimizer": {
      "device": "cpu"
    }
  },
  "steps_per_print": null,
  "betas": [0.9,
            0.95]
}
"""


def test_every_leaf_is_an_entry_with_its_line():
    document = read_json(DEEPSPEED, "ds.json")
    assert [(entry.line, entry.key, entry.value, entry.text) for entry in document.entries] == [
        (2, "bf16.enabled", "auto", '"auto"'),
        (4, "zero_optimization.stage", 3, "3"),
        (5, "zero_optimization.reduce_bucket_size", 2e8, "2e8"),
        (7, "zero_optimization.offload_optimizer.device", "cpu", '"cpu"'),
        (10, "steps_per_print", None, "null"),
        (11, "betas", [0.9, 0.95], ""),
    ]
    assert document.lints == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=30,
)


@settings(max_examples=300, deadline=None)
@given(value=VALUES, indent=st.sampled_from([None, 0, 2]))
def test_valid_json_is_read_as_json_reads_it(value, indent):
    text = json.dumps(value, indent=indent)
    document = read_json(text, "x")
    assert document.data == json.loads(text)
    assert document.lints == []


@pytest.mark.parametrize(
    ("text", "data", "what"),
    [
        ('{"a": 1, // why\n "b": 2}', {"a": 1, "b": 2}, "a comment"),
        ('{"a": 1, # why\n "b": 2}', {"a": 1, "b": 2}, "a comment"),
        ('{"a": /* why */ 1}', {"a": 1}, "a comment"),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, "a comma before the closing bracket"),
        ("{'a': 1}", {"a": 1}, "single quotes"),
        ("{a: 1}", {"a": 1}, "a key without quotes"),
        ('{"a": True}', {"a": True}, "`True` (Python spelling)"),
        ('{"a": .5}', {"a": 0.5}, "the number `.5`"),
        ('{"a": BATCH_SIZE}', {"a": Unresolved("BATCH_SIZE", ("BATCH_SIZE",))}, "the placeholder `BATCH_SIZE`"),
        ('{"a": {{lr}}}', {"a": Unresolved("{{lr}}", ("lr",))}, "the placeholder `{{lr}}`"),
    ],
)
def test_what_json_load_would_refuse_is_read_and_reported(text, data, what):
    document = read_json(text, "ds.json")
    assert document.data == data
    (lint,) = document.lints
    assert (lint.rule, lint.severity) == ("json-not-strict", "warning")
    assert lint.message.startswith(f"not strict JSON ({what}): json.load")
    with pytest.raises(ValueError):
        json.loads(text)


def test_a_template_of_many_placeholders_is_one_fault():
    lints = read_json('{"a": GB_SIZE,\n "b": MB_SIZE,\n "c": [SEED, SEED]}', "template.json").lints
    assert [(lint.rule, lint.line) for lint in lints] == [("json-not-strict", 1)]


def test_numbers():
    data = read_json('{"a": 2e8, "b": 1E400, "c": NaN, "d": -Infinity, "e": 123456789012345678901234567890}', "x").data
    assert (data["a"], data["b"], data["d"], data["e"]) == (2e8, math.inf, -math.inf, 123456789012345678901234567890)
    assert math.isnan(data["c"])
    document = read_json('{"a": ' + "9" * 5000 + "}", "x")
    assert document.notes == ["line 1: a number of 5,000 digits is kept as text"]


def test_a_duplicate_key():
    document = read_json('{"zero": {"stage": 2,\n "stage": 3}}', "ds.json")
    (lint,) = document.lints
    assert (lint.rule, lint.line) == ("duplicate-key", 2)
    assert "at lines 1 and 2" in lint.message
    assert document.data == {"zero": {"stage": 3}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a" 1}', "x line 1: not JSON, expected `:` after the key, found `1}`; correct that line"),
        ('{"a": 1\n "b": 2}', 'x line 2: not JSON, expected `,` or `}`, found `"b": 2}`; correct that line'),
        ('{"a": 1', "x line 1: not JSON, expected `,` or `}`, found the end of the text; correct that line"),
        ('{"a": "b', "x line 1: not JSON, broken string (Unterminated string starting at); correct that line"),
        (
            '{"a": 1} {"b": 2}',
            "x line 1: not JSON, text after the end of the JSON value; keep one JSON value in the file",
        ),
        ("hello world", "x line 1: not JSON, the text starts with `hello world`; name a JSON file"),
    ],
)
def test_broken_json_says_where(text, message):
    with pytest.raises(InputError) as raised:
        read_json(text, "x")
    assert str(raised.value) == message


def test_lone_surrogates_do_not_survive():
    document = read_json('{"a": "\\ud800", "\\udfff": [1, "\\ud800"]}', "x")
    json.dumps(document.data, ensure_ascii=False).encode()
    document.entries[0].value.encode()


PRIME_RL = """\
max_steps = 200
[model]
name = "Qwen/Qwen3-8B"  # base
[ckpt]
[trainer.optim]
lr = 1e-6
note = '''
[not.a.table]
x = 1
'''
[[orchestrator.train.source]]
id = "math"
[[orchestrator.train.source]]
id = "code"
["quoted key".x]
a.b = {c = [1,
  2]}
since = 2026-01-02
"""


def test_toml_entries_with_lines():
    document = read_toml(PRIME_RL, "rl.toml")
    assert [(entry.line, entry.key, entry.value) for entry in document.entries] == [
        (1, "max_steps", 200),
        (3, "model.name", "Qwen/Qwen3-8B"),
        (4, "ckpt", {}),
        (6, "trainer.optim.lr", 1e-6),
        (7, "trainer.optim.note", "[not.a.table]\nx = 1\n"),
        (11, "orchestrator.train.source", [{"id": "math"}, {"id": "code"}]),
        (16, "quoted key.x.a.b.c", [1, 2]),
        (18, "quoted key.x.since", "2026-01-02"),
    ]


def test_broken_toml_says_where():
    with pytest.raises(InputError, match=r"^rl\.toml: broken TOML, .*line 2, column 5\); correct that line$"):
        read_toml("a = 1\nb = \n", "rl.toml")
    with pytest.raises(InputError, match="broken TOML"):
        read_toml("a = 1\na = 2\n", "rl.toml")
