"""Words of users find their symptom and skill first: what the files say, what they do not say, and misspelt."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from grpo_guard.lookup.skills import match_skill
from grpo_guard.lookup.symptoms import rank
from grpo_guard.store import lookup as store

OWN = yaml.safe_load(Path(__file__).with_name("phrasings.yaml").read_text(encoding="utf-8"))
LEAST, LEAST_OF_THREE = 0.93, 0.97  # of our own phrasings that find their symptom first, among the first three


def found(query: str, limit: int) -> list[str]:
    return [match.id for match in rank(query, limit)]


def first(query: str) -> str:
    return next(iter(found(query, 1)), "")


def misspelt(text: str, seed: int) -> str:
    """One letter lost, doubled or swapped, never the first or last."""
    chance = random.Random(f"{seed} {text}")
    at = chance.randrange(1, len(text) - 2)
    return chance.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + text[at] + text[at:],
            text[:at] + text[at + 1] + text[at] + text[at + 2 :],
        )
    )


def of_files() -> list[tuple[str, str]]:
    return [
        (name, text)
        for name, entry in store.symptoms().items()
        for language in ("en", "zh")
        for text in entry["phrasings"][language]
    ]


def test_our_own_phrasings_are_many_and_none_is_copied():
    texts = [text for texts in OWN.values() for text in texts]
    assert len(texts) >= 200
    assert len(set(texts)) == len(texts)
    assert {name for names in OWN for name in names.split(", ")} == set(store.symptoms())


def test_precision_of_our_own_phrasings():
    asked = [(names.split(", "), text, found(text, 3)) for names, texts in OWN.items() for text in texts]
    missed = [row for row in asked if row[2][:1] == [] or row[2][0] not in row[0]]
    lost = [row for row in asked if not set(row[0]) & set(row[2])]
    print(
        f"precision@1 {1 - len(missed) / len(asked):.3f}, among three {1 - len(lost) / len(asked):.3f} of {len(asked)}"
    )
    assert len(missed) <= (1 - LEAST) * len(asked), missed
    assert len(lost) <= (1 - LEAST_OF_THREE) * len(asked), lost


def test_every_phrasing_of_the_files_finds_its_symptom_first():
    assert [(name, text, first(text)) for name, text in of_files() if first(text) != name] == []


def test_misspelt_phrasings_of_the_files():
    tried = [(name, misspelt(text, 1)) for name, text in of_files() if len(text) > 5]
    missed = [(name, text, first(text)) for name, text in tried if first(text) != name]
    assert len(missed) <= len(tried) * 0.005, missed


SKILLS = [(skill["name"], trigger) for skill in store.skills().values() for trigger in skill["triggers"]]


def test_the_seeds_triggers_are_all_there():
    counts = {skill: sum(name == skill for name, _ in SKILLS) for skill in store.skills()}
    assert counts == {"grpo-debug": 18, "cross-framework-avoidance": 19}


@pytest.mark.parametrize("name, trigger", SKILLS)
def test_a_trigger_finds_its_skill_first(name, trigger):
    forms = [trigger, trigger.lower(), trigger.upper(), f"please help with {trigger}", f"{trigger}?"]
    forms += [misspelt(trigger, seed) for seed in range(10)]
    answers = {form: match_skill(form)["skills"][0] for form in forms}
    assert {form: row["name"] for form, row in answers.items() if row["name"] != name or not row["score"]} == {}
    assert answers[trigger]["matched"] == trigger
    assert answers[trigger]["score"] == 1


def test_what_no_skill_is_for_is_said():
    answer = match_skill("bake a chocolate cake")
    assert [row["score"] for row in answer["skills"]] == [0, 0]
    assert answer["notes"] == ["no trigger is like this; these are all skills"]


def test_the_same_query_gives_the_same_answer_in_another_process():
    import subprocess
    import sys

    code = "from grpo_guard.lookup.symptoms import rank; print(rank('loss nan grad norm oom 显存 entropy hang', 20))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(runs) == 1
