"""Terms: one form for words, identifiers and concepts, in English and Chinese."""

from __future__ import annotations

import pytest

from grpo_guard.diagnosis.words import as_written, stem, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("free_cache_engine", ["free_cache_engine", "free", "cach", "engin", "@cache"]),
        ("IndexError", ["index", "error"]),
        ("LoRA", ["lora", "@lora"]),
        ("it is the same", []),
        ("out of memory", ["memory", "@oom"]),
        ("显存不足", ["@oom"]),
    ],
)
def test_terms_of_a_text(text: str, expected: list[str]) -> None:
    found = terms().of(text)
    assert [term for term in expected if term not in found] == []
    assert [term for term in found if term not in expected] in ([], ["indexerror"])


def test_english_and_chinese_name_the_same_concepts() -> None:
    concepts = {term for term in terms().of("梯度范数爆炸") if term.startswith("@")}
    assert concepts == {"@gradnorm", "@explode"}
    assert concepts <= set(terms().of("the gradient norm explodes"))


@pytest.mark.parametrize(
    ("word", "expected"), [("explodes", "explod"), ("updating", "updat"), ("loss", "los"), ("gas", "gas")]
)
def test_stem(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_terms_are_shown_as_the_user_wrote_them() -> None:
    assert as_written("After Updating, rewards DROP", ["drop", "updat", "absent"], 2) == ["DROP", "Updating"]
