"""No false alarms on healthy runs: tests/cases/healthy/<framework>/*.*, found by name.

Every file is right for the versions in its comment `# grpo-guard-test: --version verl=0.9.1 --world-size 8`; a second
comment, `# expect: prompts_per_step=512 samples_per_step=4096`, gives the size of a step. Formats without comments have
both in a file of the same name with the ending `.options`. Subfolders hold files that the runs read.
"""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from grpo_guard.model import Report
from grpo_guard.validate import validate_targets

CASES = Path(__file__).parent / "cases" / "healthy"
DOCS = Path(__file__).parent.parent / "docs"
FILES = sorted(path for path in CASES.glob("*/*.*") if path.is_file() and path.suffix != ".options")
OPTIONS, EXPECT = "grpo-guard-test:", "expect:"
MOST_WARNINGS, MEAN_WARNINGS = 1, 0.2


def comment(path: Path, mark: str) -> str | None:
    """The text behind `# mark`, of the file or of the options file beside it."""
    beside = path.with_suffix(".options")
    source = beside if beside.exists() else path
    lines = (line.lstrip("# ") for line in source.read_text().splitlines() if line.startswith("#"))
    return next((line.removeprefix(mark).strip() for line in lines if line.startswith(mark)), None)


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@cache
def report_of(path: Path, with_versions: bool = True) -> Report:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--version", action="append", default=[], type=lambda text: text.split("="))
    parser.add_argument("--world-size", type=int)
    options = parser.parse_args(shlex.split(comment(path, OPTIONS) or ""))
    versions = dict(options.version) if with_versions else {}
    return validate_targets([path], versions=versions, world_size=options.world_size)


def told(report: Report, severity: str) -> list[str]:
    return [f"{finding.rule}: {finding.message}" for finding in report.findings if finding.severity == severity]


@pytest.mark.parametrize("path", FILES, ids=name_of)
class TestEach:
    def test_the_framework_is_the_folders(self, path: Path) -> None:
        assert report_of(path).framework == path.parent.name

    def test_it_has_no_error_and_at_most_one_warning(self, path: Path) -> None:
        report = report_of(path)
        assert told(report, "error") == []
        assert len(told(report, "warning")) <= MOST_WARNINGS, told(report, "warning")

    def test_without_its_versions_it_is_not_accused_either(self, path: Path) -> None:
        report = report_of(path, with_versions=False)
        assert told(report, "error") == []
        assert len(told(report, "warning")) <= MOST_WARNINGS, told(report, "warning")

    def test_every_key_of_it_is_known(self, path: Path) -> None:
        assert [row.key for row in report_of(path).unknown_keys] == []


@pytest.mark.parametrize("path", [path for path in FILES if comment(path, EXPECT)], ids=name_of)
def test_the_step_has_the_size_that_the_comment_says(path: Path) -> None:
    expected = {name: int(size) for name, size in (pair.split("=") for pair in str(comment(path, EXPECT)).split())}
    batch = report_of(path).batch
    assert {name: batch.get(name) for name in expected} == expected


def test_the_cases_state_their_versions() -> None:
    assert [path.name for path in FILES if comment(path, OPTIONS) is None] == []


def test_all_frameworks_and_formats_are_there() -> None:
    assert len(FILES) >= 45
    folders = Counter(path.parent.name for path in FILES)
    trainers = {"verl", "rllm", "easyr1", "trl", "openrlhf", "ms-swift", "llama-factory", "axolotl"}
    assert set(folders) >= trainers | {"deepspeed", "accelerate", "seed"}
    assert {path.suffix for path in FILES} >= {".sh", ".slurm", ".yaml", ".json", ".py", ".ipynb", ".txt"}


def test_warnings_are_rare_over_all() -> None:
    warnings = [line for path in FILES for line in told(report_of(path), "warning")]
    assert len(warnings) <= MEAN_WARNINGS * len(FILES), warnings


class TestTheReadingOfPublishedExamples:
    """docs/false-alarms.md judges by hand what the generated docs/corpus.md counts."""

    def test_every_error_is_judged_and_none_is_wrong(self) -> None:
        counted = Counter({row[1]: int(row[2]) for row in table("corpus.md", "Findings") if row[0] == "error"})
        judged = table("false-alarms.md", "Errors")
        assert Counter(row[1] for row in judged) == counted
        assert {row[2] for row in judged} == {"yes"}

    def test_every_frequent_rule_is_explained(self) -> None:
        _, _, page = (DOCS / "false-alarms.md").read_text().partition("## Rules that fire")
        frequent = {row[2] for row in table("corpus.md", "Findings", "Rules that fire on more than")}
        assert {rule for rule in frequent if f"**{rule}**" not in page} == set()

    def test_official_examples_get_at_most_one_warning_on_average(self) -> None:
        means = {row[0]: float(row[-1]) for row in table("corpus.md", "Findings", "### Official examples")}
        assert means
        assert max(means.values()) <= 1.0


def table(page: str, heading: str, below: str = "") -> list[list[str]]:
    """The first table of a page below a heading and, in that section, below a line that starts with `below`."""
    section = (DOCS / page).read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = section[section.index(below) :].partition("\n|")[2].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
