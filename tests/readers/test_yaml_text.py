"""YAML: values under both number rules, lines, and what is worth telling the user."""

import pytest
import yaml

from grpo_guard.configs import yaml_text
from grpo_guard.configs.values import Entry, InputError, Unresolved
from grpo_guard.configs.yaml_text import read_yaml, yaml11_lints

VERL = """\
# a comment
actor_rollout_ref:
  actor:
    strategy: fsdp2
    optim: {lr: 1e-6, betas: [0.9, 0.999]}
    checkpoint:
      save_contents: ['model', 'optimizer']
      extra: {}
  rollout:
    n: 8
    name: vllm   # the engine
    engine_kwargs:
    prompt: |
      two
      lines
reward:
- {fn: a}
- {fn: b}
"""


def test_every_leaf_is_an_entry_with_its_line():
    document = read_yaml(VERL, "ppo.yaml")
    assert [(entry.line, entry.key, entry.value, entry.text) for entry in document.entries] == [
        (4, "actor_rollout_ref.actor.strategy", "fsdp2", "fsdp2"),
        (5, "actor_rollout_ref.actor.optim.lr", 1e-6, "1e-6"),
        (5, "actor_rollout_ref.actor.optim.betas", [0.9, 0.999], "[0.9, 0.999]"),
        (7, "actor_rollout_ref.actor.checkpoint.save_contents", ["model", "optimizer"], "['model', 'optimizer']"),
        (8, "actor_rollout_ref.actor.checkpoint.extra", {}, "{}"),
        (10, "actor_rollout_ref.rollout.n", 8, "8"),
        (11, "actor_rollout_ref.rollout.name", "vllm", "vllm"),
        (12, "actor_rollout_ref.rollout.engine_kwargs", None, ""),
        (13, "actor_rollout_ref.rollout.prompt", "two\nlines\n", "two lines "),
        (16, "reward", [{"fn": "a"}, {"fn": "b"}], ""),
    ]
    assert document.data == yaml.safe_load(VERL.replace("1e-6", "1.0e-6"))
    assert (document.lints, document.notes) == ([], [])
    assert document.entries[0] == Entry("actor_rollout_ref.actor.strategy", "fsdp2", "ppo.yaml", 4, text="fsdp2")


@pytest.mark.parametrize(
    ("written", "omegaconf", "yaml11"),
    [
        ("1e-6", 1e-6, "1e-6"),
        ("2e8", 2e8, "2e8"),
        ("1.5e3", 1500.0, "1.5e3"),
        ("1.0e-06", 1e-6, 1e-6),
        ("1_000", 1000, 1000),
        ("017", 15, 15),
        ("12:30:45", 45045, 45045),
        ("on", True, True),
        ("None", "None", "None"),
        ("~", None, None),
        ("0x10", 16, 16),
        ("2024-01-01", "2024-01-01", "2024-01-01"),  # PyYAML makes a date of it; text is what a config means
    ],
)
def test_the_two_number_rules(written, omegaconf, yaml11):
    for rule, expected in (("omegaconf", omegaconf), ("yaml11", yaml11)):
        value = read_yaml(f"v: {written}", "x", float_rule=rule).data["v"]
        assert (value, type(value)) == (expected, type(expected))


def test_yaml11_agrees_with_pyyaml_on_every_spelling():
    numbers = "1,-1,+1,01,08,0b1,0x_f,1_,1.,.5,+.5,-.5,1.e5,1.e+5,.5e-3,.5e3,1e5,1.5E-3,.inf,-.INF,.nan,1:2,1:2.5"
    text = "\n".join(f"k{at}: {word}" for at, word in enumerate([*numbers.split(","), "yes", "Off", "y", "NULL"]))
    assert repr(read_yaml(text, "x", float_rule="yaml11").data) == repr(yaml.safe_load(text))


def test_a_float_that_plain_yaml_reads_as_text():
    text = "learning_rate: 1e-6\nmodel_init_kwargs:\n  x: 5e-7\nwarmup: 1.0e-2\nquoted: '1e-6'\n"
    top, nested = read_yaml(text, "grpo.yaml", float_rule="yaml11").lints
    assert (top.rule, top.line, top.severity, top.fix) == ("yaml-float-as-text", 1, "info", "write 1.0e-06")
    assert (nested.rule, nested.line, nested.severity, nested.fix) == (
        "yaml-float-as-text",
        3,
        "warning",
        "write 5.0e-07",
    )
    assert "TRL's own --config parser converts it" in top.message
    assert "nothing converts it" in nested.message
    document = read_yaml(text, "grpo.yaml")
    assert document.lints == []
    assert yaml11_lints(document) == [top, nested]  # the same, for those who learn later that TRL loads the file


def test_the_proposed_spelling_is_a_number_for_pyyaml():
    for written in ("1e-6", "2e8", "-3e5", "1E+20", "123456e-3"):
        (lint,) = read_yaml(f"v: {written}", "x", float_rule="yaml11").lints
        assert yaml.safe_load(lint.fix.removeprefix("write ")) == float(written)


def test_a_duplicate_key_is_reported_with_both_lines():
    document = read_yaml("a:\n  lr: 1\n  n: 2\n  lr: 3\nb: {lr: 4}\n", "x.yaml")
    (lint,) = document.lints
    assert (lint.rule, lint.severity, lint.file, lint.line) == ("duplicate-key", "warning", "x.yaml", 4)
    assert "`lr` is set twice in the same mapping, at lines 2 and 4" in lint.message
    assert document.data["a"] == {"lr": 3, "n": 2}


def test_aliases_and_merge_keys_keep_the_line_of_the_value():
    text = "base: &base\n  n: 8\n  t: 1.0\nrollout:\n  <<: *base\n  n: 16\nval: *base\n"
    document = read_yaml(text, "x")
    assert document.data["rollout"] == {"n": 16, "t": 1.0}
    assert [(entry.key, entry.line) for entry in document.entries] == [
        ("base.n", 2),
        ("base.t", 3),
        ("rollout.n", 6),
        ("rollout.t", 3),
        ("val.n", 2),
        ("val.t", 3),
    ]


def test_two_merged_mappings_that_disagree():
    (lint,) = read_yaml("x: &x {beta: 1}\ny: &y {beta: 2}\nz: {<<: [*x, *y]}\n", "x").lints
    assert (lint.rule, lint.line) == ("merge-conflict", 3)


def test_a_merge_of_something_else():
    (lint,) = read_yaml("a: {<<: [1, 2], b: 3}\n", "x").lints
    assert (lint.rule, lint.severity) == ("bad-merge", "error")


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: !!python/object/apply:os.system [ls]", {"a": ["ls"]}),
        ("a: !!python/name:os.system x", {"a": "x"}),
        ("a: !secret 12", {"a": 12}),
        ("a: !env {b: 1}", {"a": {"b": 1}}),
    ],
)
def test_tags_are_data(text, data):
    document = read_yaml(text, "x")
    assert document.data == data
    assert [lint.rule for lint in document.lints] == ["yaml-tag"]


def test_only_the_first_document_is_read():
    document = read_yaml("---\n---\na: 1\n---\nb: 2\n", "x")
    assert document.data == {"a": 1}
    assert document.notes == ["several YAML documents; only the first non-empty one is read"]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n", "~\n"])
def test_an_empty_file(text):
    document = read_yaml(text, "x")
    assert (document.data, document.entries, document.notes) == (None, [], ["the file is empty"])


@pytest.mark.parametrize("text", ["- 1\n- a: 2\n", "just words\n", "3\n"])
def test_what_is_no_mapping_has_data_and_no_entries(text):
    document = read_yaml(text, "x")
    assert document.entries == []
    assert document.data == yaml.safe_load(text)


def test_an_unfilled_template_is_unresolved():
    document = read_yaml("lr: {{lr}}\nn: 8\n", "x")
    assert document.data == {"lr": Unresolved("{{lr}}", ("lr",)), "n": 8}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n  b: 1\n c: 2\n", "x.yaml line 3: broken YAML, did not find expected key; correct that line"),
        ("a:\n\tb: 1\n", "x.yaml line 2: broken YAML, found character that cannot start any token; correct that line"),
        ("a: [1, 2\n", "x.yaml line 2: broken YAML, did not find expected ',' or ']'; correct that line"),
        ("a: *b\n", "x.yaml line 1: alias *b has no anchor &b above it"),
        ("a: \0\n", "x.yaml line 1: a control character that YAML does not allow; delete it"),
    ],
)
def test_broken_yaml_says_where(text, message):
    with pytest.raises(InputError) as raised:
        read_yaml(text, "x.yaml")
    assert str(raised.value) == message


def test_a_tab_that_only_libyaml_accepts():
    (lint,) = read_yaml("a: |\n  tab\there\nc: \t3\n", "x").lints
    assert (lint.rule, lint.severity, lint.line) == ("yaml-tab", "error", 3)
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load("c: \t3\n")


@pytest.mark.parametrize("text", [VERL, "a: &x {b: 1}\nc: {<<: *x}\n", "a: 1\na: 2\n", "- 1\n", "a: !x 1\n", ""])
def test_the_pure_python_parser_gives_the_same(text, monkeypatch):
    expected = read_yaml(text, "x")
    monkeypatch.setattr(yaml_text, "event_source", yaml_text._python_parser)
    assert read_yaml(text, "x") == expected
