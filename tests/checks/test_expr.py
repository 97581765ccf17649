"""The condition language: a closed set of operators, and Kleene logic throughout."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grpo_guard.checks.expr import ExpressionError, Unknown, evaluate, fields_of, parse, to_text


class Fields:
    """A scope over plain dictionaries; what is not in them is unknown."""

    def __init__(self, fields: dict[str, Any], env: dict[str, str] | None = None) -> None:
        self.fields, self.env = fields, env or {}

    def field_value(self, name: str) -> Any:
        return self.fields[name] if name in self.fields else Unknown(frozenset([name]))

    def env_value(self, name: str) -> Any:
        return self.env.get(name)

    def is_explicit(self, name: str) -> bool:
        return name in self.fields

    def is_known(self, name: str) -> bool:
        return name in self.fields


def value_of(text: str, env: dict[str, str] | None = None, **fields: Any) -> Any:
    node = json.loads(json.dumps(parse(text)))  # the compiled index carries conditions as JSON
    return evaluate(node, Fields(fields, env))


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("group_size == 1", {"group_size": 1}, True),
        ("group_size < 2", {"group_size": 8}, False),
        ("zero_stage in [1, 2] and overlap_comm", {"zero_stage": 2, "overlap_comm": True}, True),
        ("zero_stage not in [1, 2]", {"zero_stage": 3}, True),
        ("0 < top_p < 1", {"top_p": 0.9}, True),
        ("0 < top_p < 1", {"top_p": 1.0}, False),
        ("not use_kl_loss", {"use_kl_loss": False}, True),
        ("kl_coef == null", {"kl_coef": None}, True),
        ("kl_coef > 0", {"kl_coef": None}, False),
        ("a * b > c", {"a": 4, "b": 8, "c": 31}, True),
        ("contains(model, 'Qwen')", {"model": "Qwen/Qwen3-8B"}, True),
        ("lower(model) == 'x'", {"model": "X"}, True),
        ("length(target_modules) == 2", {"target_modules": ["q", "v"]}, True),
        ("startswith(model, 'Qwen')", {"model": None}, False),
        ("explicit(group_size)", {}, False),
        ("known(group_size)", {"group_size": None}, True),
        ("temperature == -1", {"temperature": -1}, True),
    ],
)
def test_decided_conditions(text: str, fields: dict[str, Any], expected: bool) -> None:
    assert value_of(text, **fields) is expected


@pytest.mark.parametrize(
    ("text", "fields", "needs"),
    [
        ("group_size == 1", {}, {"group_size"}),
        ("a and b", {"a": True}, {"b"}),
        ("a or b", {"b": False}, {"a"}),
        ("not a", {}, {"a"}),
        ("a + b > 3", {"a": 1}, {"b"}),
        ("a > 1 and b > 1", {}, {"a", "b"}),
        ("a > 1", {"a": "eight"}, {"a"}),
        ("a % b == 0", {"a": 8, "b": 0}, {"a", "b"}),
        ("number(a) > 1", {"a": "x"}, {"a"}),
    ],
)
def test_undecided_conditions_name_what_they_need(text: str, fields: dict[str, Any], needs: set[str]) -> None:
    assert value_of(text, **fields) == Unknown(frozenset(needs))


def test_one_deciding_operand_decides_whatever_is_unknown_beside_it() -> None:
    assert value_of("missing and group_size == 1", group_size=8) is False
    assert value_of("missing or group_size == 1", group_size=1) is True
    assert value_of("missing > 3 and group_size == 1", group_size=8) is False


def test_a_switch_is_not_a_number() -> None:
    assert value_of("a == 1", a=True) is False
    assert value_of("a in [1, 2]", a=True) is False
    assert value_of("a == true", a=True) is True


def test_environment_variables_are_null_when_the_script_does_not_set_them() -> None:
    text = "contains(env.PYTORCH_CUDA_ALLOC_CONF, 'expandable_segments:True')"
    assert value_of(text, env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}) is True
    assert value_of(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "group_size.__class__",
        "[x for x in range(9)]",
        "lambda: 1",
        "group_size if a else b",
        "eval('1')",
        "group_size ** 9",
        "f'{group_size}'",
        "group_size == 1; 2",
        "explicit('group_size')",
        "contains(model)",
        "a is b is",
        "{1: 2}",
        "a[0]",
    ],
)
def test_everything_else_is_refused_when_the_index_is_built(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_fields_of_names_every_field_once() -> None:
    assert fields_of(parse("a and explicit(b) or contains(c, 'x') and env.HOME == null")) == {"a", "b", "c"}


@pytest.mark.parametrize(
    "text",
    [
        "zero_stage in [1, 2] and overlap_comm and torch_compile",
        "a and (b or c) and not (d == null)",
        "(a * b) > 3 or contains(env.NCCL_ALGO, 'Ring')",
        "explicit(kl_coef) and use_kl_loss == false",
    ],
)
def test_a_compiled_condition_reads_as_it_was_written(text: str) -> None:
    assert to_text(parse(text)) == text
    assert parse(to_text(parse(text))) == parse(text)


@pytest.mark.parametrize("text", ["a * b == 0", "a % b == 0", "a + b == 0", "b * a == 0", "b % a == 0"])
@pytest.mark.parametrize("value", ["x", "%999999999999d", ["x"], True, {"x": 1}])
def test_arithmetic_is_for_numbers_only(text: str, value: Any) -> None:
    """Python would repeat or format text and lists, up to all memory there is."""
    outcome = evaluate(parse(text), Fields({"a": value, "b": 10**12}))
    assert outcome == Unknown(frozenset(["a", "b"]))
