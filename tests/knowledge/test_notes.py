"""The notes of knowledge/notebook: each at its path, short, dated, with a source for every claim."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from grpo_guard.store.schema import NoteHead
from grpo_guard.store.versions import is_version

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "knowledge" / "notebook"
GENERATED = "auto-memory"
AT_THE_SEEDS_PATHS = (
    GENERATED,
    "fundamentals/state-lifecycle-mismatch-pattern-family-derivation",
    "projects/deepspeed-zero1-2-gradient-flow-stream-safety-deep-reading",
    "projects/megatron-5394-chained-optimizer-muon-clipping-reading",
    "projects/mindie-vllm-ascend-latest-developments-2026-06-session3-reading",
    "projects/pytorch-fsdp2-2026-deep-reading",
    "projects/rllm-latest-developments-2026-06-session3-reading",
    "projects/rtx4090-grpo-training-runbook",
    "projects/verl-v1-critical-bugs-issues-2026-06-20",
    "projects/verl-v1-grpo-training-loop-architecture-deep-reading",
    "projects/verl-v1-sync-ppo-trainer-grpo-training-loop-deep-reading",
    "projects/vllm-v1-architecture-critical-bugs-deep-reading",
)
NOTES = sorted(path.relative_to(NOTEBOOK).with_suffix("").as_posix() for path in NOTEBOOK.rglob("*.md"))
WRITTEN = [name for name in NOTES if name != GENERATED]
LINK = re.compile(r"\]\(https://[^\s)]+\)")
ITEM = re.compile(r"^(?:[-*] |\d+\. )", re.MULTILINE)


def text_of(name: str) -> str:
    return (NOTEBOOK / f"{name}.md").read_text(encoding="utf-8")


def parts(name: str) -> tuple[dict[str, Any], str]:
    """Front matter and body."""
    match = re.match(r"---\n(.*?)\n---\n(.*)", text_of(name), re.DOTALL)
    assert match, f"{name}: no front matter between two lines of ---"
    return yaml.safe_load(match[1]), match[2]


def prose(body: str) -> str:
    return re.sub(r"^```.*?^```$", "", body, flags=re.MULTILINE | re.DOTALL)


def headings(body: str, level: int) -> list[str]:
    return re.findall(rf"^#{{{level}}} (.+)$", prose(body), re.MULTILINE)


def claims(body: str) -> list[str]:
    """Paragraphs, tables and single list items, without headings, code and the lines that only introduce a list."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", prose(body)):
        block = re.sub(r"^#+ .*$", "", block, flags=re.MULTILINE).strip()
        if not ITEM.match(block):
            found.append(block)
            continue
        starts = [match.start() for match in ITEM.finditer(block)]
        found += [block[start:end] for start, end in zip(starts, [*starts[1:], len(block)], strict=True)]
    return [claim for claim in found if claim and not claim.endswith(":")]


def test_the_index_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/build_notes.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_index_names_every_note() -> None:
    index = text_of(GENERATED)
    assert [name for name in WRITTEN if f"- `{name}`: " not in index] == []


@pytest.mark.parametrize("name", AT_THE_SEEDS_PATHS)
def test_a_note_stands_where_the_seeds_point(name: str) -> None:
    assert name in NOTES


@pytest.mark.parametrize("name", NOTES)
def test_front_matter(name: str) -> None:
    head, body = parts(name)
    note = NoteHead.model_validate(head)
    assert note.last_verified <= datetime.date.today()
    assert len(headings(body, 1)) == 1
    assert name == GENERATED or (note.sources and note.applies_to)
    assert len(set(note.sources)) == len(note.sources)


@pytest.mark.parametrize("name", WRITTEN)
def test_the_versions_it_applies_to_are_ranges(name: str) -> None:
    for bounds in parts(name)[0]["applies_to"].values():
        for bound in bounds.split(","):
            assert is_version(re.sub(r"^(>=|<=|==|<|>)", "", bound))
            assert not is_version(bound)


@pytest.mark.parametrize("name", NOTES)
def test_the_listed_sections_are_the_sections(name: str) -> None:
    head, body = parts(name)
    assert head["sections"] == headings(body, 2)


@pytest.mark.parametrize("name", NOTES)
def test_six_to_twenty_kilobytes(name: str) -> None:
    assert 6_000 <= len(text_of(name).encode()) <= 20_000


@pytest.mark.parametrize("name", WRITTEN)
def test_every_claim_has_a_link(name: str) -> None:
    assert [claim for claim in claims(parts(name)[1]) if not LINK.search(claim)] == []


@pytest.mark.parametrize("name", WRITTEN)
def test_the_sources_are_used_and_source_lines_are_pinned(name: str) -> None:
    head, body = parts(name)
    assert [source for source in head["sources"] if source not in body] == []
    assert re.findall(r"https://github\.com/[^\s)]+/blob/(?:main|master|dev)/[^\s)]*", body) == []


@pytest.mark.parametrize("name", NOTES)
def test_no_paths_of_a_machine(name: str) -> None:
    assert re.findall(r"(?:/home/|/root/|/work/|/Users/)\S+", text_of(name)) == []


@pytest.mark.parametrize(
    ("place", "name", "arguments"),
    [
        (0, "run.sh", ["--framework", "verl", "--version", "verl=0.9.1"]),
        (1, "grpo.yaml", ["--framework", "trl", "--version", "trl=1.16.0"]),
        (2, "run.sh", ["--framework", "openrlhf", "--version", "openrlhf=0.11.2", "--version", "deepspeed=0.19.6"]),
    ],
)
def test_the_configs_of_the_runbook_pass_our_own_checks(
    place: int, name: str, arguments: list[str], tmp_path: Path
) -> None:
    blocks = re.findall(r"^```\w+\n(.*?)^```$", text_of("projects/rtx4090-grpo-training-runbook"), re.M | re.S)
    (tmp_path / name).write_text(blocks[place], encoding="utf-8")
    command = [sys.executable, "-m", "grpo_guard", "validate", str(tmp_path / name), "--world-size", "1", *arguments]
    done = subprocess.run([*command, "--fail-on", "warning"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_claim_splitter_sees_each_item() -> None:
    text, code = "text [a](https://x.y/z)", "```\ncode\n\ncode\n```"
    body = f"# T\n\n{text}\n\nfour:\n\n- one [a](https://x.y/z)\n  more\n- two\n\n{code}\n\n## S\n"
    assert claims(body) == [text, "- one [a](https://x.y/z)\n  more\n", "- two"]
