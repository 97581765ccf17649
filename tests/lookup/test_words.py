"""One form for what users write: English, Chinese, punctuation, inflection, spelling."""

from __future__ import annotations

import pytest

from grpo_guard.lookup.matching import Phrasebook, compile_phrasebook
from grpo_guard.lookup.spelling import corrected
from grpo_guard.lookup.symptoms import vocabulary
from grpo_guard.lookup.words import MAX_CHARS, Vocabulary, contradictions, flat


@pytest.mark.parametrize(
    "text, words",
    [
        ("Grad-norm explodes", ["gradnorm", "explode"]),
        ("gradient norm exploded!", ["gradnorm", "explode"]),
        ("梯度范数爆炸", ["gradnorm", "explode"]),
        ("\uff23\uff35\uff24\uff21 out of memory", ["oom"]),  # full-width letters
        ("训练到一半显存不够了", ["train", "一半", "oom"]),
        ("The LOSS is NaN?", ["loss", "nan"]),
        ("rollout_probs_diff_mean", ["rollout", "logprob", "diff", "mean"]),
        ("", []),
        ("?!", []),
    ],
)
def test_words(text, words):
    assert vocabulary().words(text) == words


def test_a_long_text_is_cut():
    assert len(flat("word " * 10_000)) <= MAX_CHARS


def test_the_longest_form_wins():
    vocabulary = Vocabulary({"oom": ["out of memory"], "host": ["memory"]}, [])
    assert vocabulary.words("out of memory, memory") == ["oom", "host"]


def test_a_form_is_not_found_inside_a_word():
    assert Vocabulary({"inf": ["infinite"]}, []).words("information") == ["information"]


KNOWN = {"gradient", "explosion", "loss", "nan", "norm", "grad", "plateau", "wake"}


@pytest.mark.parametrize(
    "word, meant",
    [
        ("graident", ["gradient"]),
        ("explosin", ["explosion"]),
        ("platau", ["plateau"]),
        ("los", ["loss"]),
        ("nann", ["nan"]),
        ("gradnorm", ["grad", "norm"]),
        ("loss", ["loss"]),
        ("bake", ["bake"]),  # another word, not a misspelt wake
        ("8061", ["8061"]),
        ("qwertzuiop", ["qwertzuiop"]),
    ],
)
def test_spelling(word, meant):
    assert corrected(word, KNOWN)[0] == meant


def test_a_corrected_word_is_less_sure():
    assert corrected("gradient", KNOWN)[1] == 1
    assert 0.7 < corrected("graident", KNOWN)[1] < 1


def phrasebook(phrases: dict[str, list[str]], **words) -> Phrasebook:
    book = Vocabulary(
        words.get("concepts", {}), words.get("stopwords", ()), words.get("decisive", ()), {}, words.get("contrary", ())
    )
    return Phrasebook(compile_phrasebook(phrases, {}, book), book)


def test_the_very_phrasing_is_certain_and_wins():
    book = phrasebook({"a": ["loss grows", "grows loss"], "b": ["loss grow"]})
    assert [(match.id, match.score) for match in book.rank("loss grow", 2)] == [("b", 1.0), ("a", 0.99)]


def test_rare_words_tell_more_than_frequent_ones():
    book = phrasebook({"a": ["training crash"], "b": ["training hang"], "c": ["training slow"]})
    assert book.rank("my training hang", 3)[0].id == "b"


def test_what_happens_counts_more_than_where():
    phrases = {"oom_sync": ["oom when syncing weights"], "hang_sync": ["hang in sync of weights"]}
    query = "hang when syncing weights"
    assert phrasebook(phrases).rank(query, 1)[0].id == "oom_sync"
    book = phrasebook(phrases, decisive=["oom", "hang"], contrary=[["oom", "hang"]])
    assert book.rank(query, 1)[0].id == "hang_sync"


@pytest.mark.parametrize(
    "ours, theirs, count",
    [
        ({"hang", "loss"}, {"oom", "reward"}, 2),
        ({"hang", "loss"}, {"stop", "loss", "reward"}, 0),
        ({"hang"}, {"weights"}, 0),
    ],
)
def test_one_of_a_line_excludes_another_and_a_stroke_joins(ours, theirs, count):
    book = Vocabulary({}, (), (), {}, [["hang|stop", "oom"], ["loss", "reward"]])
    assert contradictions(book.sides(ours), book.sides(theirs)) == count


def test_beside_an_out_of_memory_a_crash_says_nothing_more():
    book = Vocabulary({}, (), (), {"crash": ["oom"]})
    assert book.words("crash oom") == ["oom"]
    assert book.words("crash") == ["crash"]


def test_something_else_may_speak_for_an_entry():
    book = phrasebook({"a": ["loss is nan"], "b": ["loss is zero"]})
    assert book.rank("loss", 1)[0].id == "a"
    assert book.rank("loss", 1, {"b": 0.3})[0].id == "b"


def test_ties_go_by_order():
    assert [match.id for match in phrasebook({"z": ["x y"], "a": ["x w"]}).rank("x", 2)] == ["z", "a"]


def test_nothing_asked_is_nothing_found():
    assert phrasebook({"a": ["loss"]}).rank("", 3) == []
    assert phrasebook({}).rank("loss", 3) == []
