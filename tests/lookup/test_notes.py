"""Reading notes: by any of their names, by section, in pages, by search, by framework."""

from __future__ import annotations

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.lookup.notes import read_reference
from grpo_guard.store import lookup as store

VLLM = "projects/vllm-v1-architecture-critical-bugs-deep-reading"
SEED_NOTES = {
    "auto-memory",
    "fundamentals/state-lifecycle-mismatch-pattern-family-derivation",
    "projects/verl-v1-sync-ppo-trainer-grpo-training-loop-deep-reading",
    "projects/verl-v1-critical-bugs-issues-2026-06-20",
    "projects/deepspeed-zero1-2-gradient-flow-stream-safety-deep-reading",
    "projects/megatron-5394-chained-optimizer-muon-clipping-reading",
    "projects/rtx4090-grpo-training-runbook",
    VLLM,
    "projects/verl-v1-grpo-training-loop-architecture-deep-reading",
    "projects/rllm-latest-developments-2026-06-session3-reading",
    "projects/mindie-vllm-ascend-latest-developments-2026-06-session3-reading",
    "projects/pytorch-fsdp2-2026-deep-reading",
}
# The seeds' seven rows of "on-demand load per framework", as they write the names.
ON_DEMAND = {
    "DeepSpeed": "projects/deepspeed-zero1-2-gradient-flow-stream-safety-deep-reading",
    "Megatron": "projects/megatron-5394-chained-optimizer-muon-clipping-reading",
    "vLLM": VLLM,
    "verl": "projects/verl-v1-grpo-training-loop-architecture-deep-reading",
    "rLLM": "projects/rllm-latest-developments-2026-06-session3-reading",
    "MindIE": "projects/mindie-vllm-ascend-latest-developments-2026-06-session3-reading",
    "PyTorch": "projects/pytorch-fsdp2-2026-deep-reading",
}


def test_the_seeds_twelve_notes_are_there_at_their_paths():
    assert set(store.notes()) >= SEED_NOTES


def test_the_list_begins_with_the_index():
    answer = read_reference()
    assert answer["found"][0]["uri"] == "notebook://auto-memory"
    assert len(answer["found"]) == len(store.notes())
    assert answer["notes"] == ["start with notebook://auto-memory"]


@pytest.mark.parametrize(
    "name",
    [
        VLLM,
        f"notebook/{VLLM}.md",
        f"notebook://{VLLM}",
        f"knowledge/notebook/{VLLM}.md",
        "vllm-v1-architecture-critical-bugs-deep-reading",
        "vllm-v1-architecture-critical-bugs-deep-reading.md",
        "vllm-v1-architecture-critical-bug-deep-readng",
    ],
)
def test_a_note_has_many_names(name):
    assert read_reference(name)["uri"] == f"notebook://{VLLM}"


def test_a_whole_note_is_its_text_without_front_matter():
    answer = read_reference(VLLM)
    text = store.note_text(VLLM)
    assert answer["text"] == text.split("\n---\n", 1)[1].strip()
    assert answer["truncated"] is False
    assert answer["sections"] == store_sections(VLLM)


def store_sections(name: str) -> list[str]:
    return [section["title"] for section in store.notes()[name]["sections"] if section["level"] == 2]


@pytest.mark.parametrize("name", sorted(SEED_NOTES))
def test_front_matter_names_the_sections_that_the_text_has(name):
    head = store.note_text(name).split("---\n")[1]
    assert [title for title in store_sections(name) if title not in head] == []


@pytest.mark.parametrize("name", sorted(SEED_NOTES))
def test_pages_join_to_the_whole(name):
    pages, offset = [], 0
    while offset is not None:
        page = read_reference(name, offset=offset, chars=1_500)
        assert len(page["text"]) <= 1_500
        assert page["truncated"] is (page.get("next_offset") is not None)
        pages.append(page["text"])
        offset = page.get("next_offset")
    assert "".join("".join(pages).split()) == "".join(read_reference(name)["text"].split())


def test_an_offset_behind_the_end_is_an_empty_page():
    answer = read_reference("auto-memory", offset=10_000_000)
    assert (answer["text"], answer["truncated"]) == ("", False)


@pytest.mark.parametrize("asked", ["Sleep levels", "sleep", "sleeep levels"])
def test_a_section_by_its_heading(asked):
    answer = read_reference(VLLM, section=asked)
    assert answer["text"].startswith("## Sleep levels\n")
    assert answer["title"].endswith(": Sleep levels")
    assert "\n## " not in answer["text"]


def test_an_unknown_section_names_those_that_are_there():
    with pytest.raises(InputError, match=r"no section 'zzzz' in projects/vllm.*: there are Which engine this is, "):
        read_reference(VLLM, section="zzzz")


def test_an_unknown_note_names_those_that_are_there():
    with pytest.raises(InputError, match="no note 'zzzz': there are auto-memory, "):
        read_reference("zzzz")


@pytest.mark.parametrize("path", ["../../../etc/passwd", "/etc/passwd", "notebook://../index.json", "..", "."])
def test_only_notes_can_be_read(path):
    with pytest.raises(InputError, match="no note"):
        read_reference(path)


@pytest.mark.parametrize("framework, note", ON_DEMAND.items())
def test_the_seeds_seven_rows(framework, note):
    answer = read_reference(framework=framework, detail="brief")
    assert answer["uri"] == f"notebook://{note}"
    assert answer["found"][-1]["uri"] == "notebook://auto-memory"
    assert answer["text"]


def test_a_framework_in_place_of_a_name():
    assert read_reference("megatron")["uri"] == f"notebook://{ON_DEMAND['Megatron']}"


def test_a_framework_without_a_note_is_one_line():
    with pytest.raises(InputError, match="no notes for framework 'jax': there are notes for deepspeed, "):
        read_reference(framework="jax")


@pytest.mark.parametrize(
    "words, section",
    [
        ("sleep level", "Sleep levels"),
        ("clipping muon", None),
        ("reshard_after_forward", "reshard_after_forward"),
        ("fsdp2 record_stream", "Streams and memory"),
        ("sparse attention", None),
        ("权重同步", None),
    ],
)
def test_search(words, section):
    found = read_reference(search=words)["found"]
    assert found and all(row["uri"] and row["section"] and row["text"] for row in found)
    assert section is None or section in [row["section"] for row in found[:5]]


def test_a_setting_is_searched_by_its_whole_name():
    found = read_reference(search="gpu_memory_utilization")["found"]
    assert all("gpu_memory_utilization" in row["text"] for row in found[:3])
    assert "Memory accounting" in [row["section"] for row in found]


def test_a_search_within_one_note():
    assert {row["uri"] for row in read_reference(VLLM, search="sleep")["found"]} == {f"notebook://{VLLM}"}


def test_a_search_without_a_hit_says_so():
    answer = read_reference(search="zzzzqqqq")
    assert "found" not in answer
    assert answer["notes"] == ["no note has these words: zzzzqqqq"]


def test_signs_in_a_search_are_letters_not_patterns():
    assert read_reference(search="(((.*+?[")["title"] == "Search: (((.*+?["
