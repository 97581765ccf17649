"""docs/corpus-index.tsv lists the public files that the readers are measured on; docs/corpus.md counts them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Row(NamedTuple):
    repo: str
    commit: str
    path: str
    kind: str


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    head, *lines = (DOCS / "corpus-index.tsv").read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == list(Row._fields)
    return [Row(*line.split("\t")) for line in lines]


def table(heading: str) -> list[list[str]]:
    """Rows of the first table below a heading of docs/corpus.md, without the head."""
    text = (DOCS / "corpus.md").read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1]
    block = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert block is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block[0].splitlines()[2:]]


def test_the_list_is_sorted_and_names_no_file_twice(rows: list[Row]) -> None:
    places = [(row.repo, row.path) for row in rows]
    assert places == sorted(set(places))


def test_a_repository_is_an_owner_and_a_name_with_an_optional_tag(rows: list[Row]) -> None:
    odd = {row.repo for row in rows if not re.fullmatch(r"[\w-]+/[\w.-]+(@v[\w.]+)?", row.repo)}
    assert odd == set()


def test_every_repository_has_one_full_commit_id(rows: list[Row]) -> None:
    pairs = {(row.repo, row.commit) for row in rows}
    assert len(pairs) == len({repo for repo, _ in pairs})
    assert all(re.fullmatch(r"[0-9a-f]{40}", commit) for _, commit in pairs)


def test_paths_are_relative_and_stay_inside_the_repository(rows: list[Row]) -> None:
    odd = [
        row.path for row in rows if row.path.startswith(("/", "~")) or ".." in row.path.split("/") or "\\" in row.path
    ]
    assert odd == []


@pytest.mark.parametrize(
    ("suffixes", "ending"),
    [
        ((".yaml", ".yml"), "-yaml"),
        ((".json",), "-json"),
        ((".py",), "-python"),
        ((".ipynb",), "-notebook"),
        ((".sh", ".bash", ".slurm", ".sbatch", ".sub"), "-shell"),
    ],
)
def test_the_kind_agrees_with_the_file_name(rows: list[Row], suffixes: tuple[str, ...], ending: str) -> None:
    named = [row for row in rows if row.kind.endswith(ending)]
    assert named != []
    assert [row for row in named if not row.path.endswith(suffixes)] == []


def test_the_page_counts_the_files_of_every_repository_and_kind(rows: list[Row]) -> None:
    counted = {(repo, kind): int(count) for repo, kind, count in table("Files by kind")}
    assert counted == Counter((row.repo, row.kind) for row in rows)


def test_the_page_names_the_commit_and_file_count_of_every_repository(rows: list[Row]) -> None:
    told = {repo: (commit.strip("`"), int(files)) for repo, commit, _, files, _ in table("Repositories")}
    files = Counter(row.repo for row in rows)
    assert told == {row.repo: (row.commit[:12], files[row.repo]) for row in rows}


def test_every_confirmed_fault_is_in_a_listed_file(rows: list[Row]) -> None:
    head, *lines = (DOCS / "corpus-faults.tsv").read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["repo", "path", "line", "versions", "rule", "fault"]
    faults = [line.split("\t") for line in lines]
    assert {(repo, path) for repo, path, *_ in faults} <= {(row.repo, row.path) for row in rows}
    assert all(int(line) > 0 and re.compile(rule) and what for _, _, line, _, rule, what in faults)
