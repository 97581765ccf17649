"""The condition language against any input, and against a second, naive reading of it."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_guard.checks.expr import ExpressionError, Unknown, evaluate, parse, to_text
from grpo_guard.store.versions import in_range
from grpo_guard.store.versions import parse as version

NAMES = ("a", "b", "c")


class Fields:
    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def field_value(self, name: str) -> Any:
        return self._values[name] if name in self._values else Unknown(frozenset([name]))

    env_value = field_value

    def is_explicit(self, name: str) -> bool:
        return name in self._values

    def is_known(self, name: str) -> bool:
        return name in self._values


ATOMS = st.sampled_from(
    [f"{name} == true" for name in NAMES] + [f"{name} != true" for name in NAMES] + ["true", "false"]
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(condition=CONDITIONS, known=st.dictionaries(st.sampled_from(NAMES), st.booleans()))
def test_an_answer_holds_however_the_unknown_fields_turn_out(condition, known):
    """True or false only if every completion agrees with it; what is unknown names fields that are unknown."""
    node = parse(condition)
    answer = evaluate(node, Fields(known))
    open_names = [name for name in NAMES if name not in known]
    python = condition.replace("true", "True").replace("false", "False")
    completions = {
        bool(eval(python, {}, known | dict(zip(open_names, row, strict=True))))
        for row in itertools.product([False, True], repeat=len(open_names))
    }
    if isinstance(answer, Unknown):
        assert answer.needs and answer.needs <= set(open_names)
    else:
        assert completions == {bool(answer)}


@settings(max_examples=300, deadline=None)
@given(condition=CONDITIONS, values=st.fixed_dictionaries({name: st.booleans() for name in NAMES}))
def test_a_condition_survives_json_and_being_written_out(condition, values):
    node = parse(condition)
    scope = Fields(values)
    assert evaluate(json.loads(json.dumps(node)), scope) == evaluate(node, scope)
    assert evaluate(parse(to_text(node)), scope) == evaluate(node, scope)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2), st.just(10**400), st.just("9" * 5_000),
)  # fmt: skip
REAL = [
    "a in [1, 2] and b", "a > b", "a * b > c", "a % b != 0", "a / b == c", "a // b >= 1", "a - b < 0.5", "a + b > c",
    "contains(a, 'x') or startswith(b, 'y')", "lower(a) == 'bf16'", "length(a) > 2", "number(a) >= 1", "-a < b",
    "explicit(a) and not known(b)", "a == null or b is null", "env.a == '1'", "a not in ['x', null]", "a < b < c",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(condition=st.sampled_from(REAL), values=st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_any_value_in_any_condition_is_true_false_or_unknown(condition, values):
    try:
        node = parse(condition)
    except ExpressionError:
        return
    answer = evaluate(node, Fields(values))
    assert isinstance(answer, Unknown) or answer in (True, False) or answer is None


WORDS = st.sampled_from(
    ["a", "b", "1", "'x'", "(", ")", "[", "]", ",", "==", "and", "not", "in", ".", "lambda:", "__class__", "**", "if"]
)


@settings(max_examples=400, deadline=None)
@given(text=st.text(max_size=30) | st.lists(WORDS, max_size=10).map(" ".join))
def test_any_text_is_a_condition_or_an_expression_error(text):
    try:
        json.dumps(parse(text))
    except ExpressionError as error:
        assert "\n" not in str(error)


RELEASES = st.lists(st.integers(0, 20), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


def naive(text: str) -> tuple[int, ...]:
    parts = [int(part) for part in text.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


@settings(max_examples=400, deadline=None)
@given(one=RELEASES, low=RELEASES, high=RELEASES)
def test_ranges_agree_with_a_naive_reading(one, low, high):
    assert in_range(one, f">={low},<{high}") is (naive(low) <= naive(one) < naive(high))
    assert in_range(one, f">{low},<={high}") is (naive(low) < naive(one) <= naive(high))
    assert in_range(one, f"=={low}") is (naive(one) == naive(low)) is not in_range(one, f"!={low}")
    assert (version(one) < version(low)) is (naive(one) < naive(low))
