"""docs/corpus-engines.md counts the engines' own commands; every error on them is judged in docs/false-alarms.md."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows(page: str, heading: str) -> list[list[str]]:
    section = (DOCS / page).read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_error_is_judged() -> None:
    found = Counter((re.sub(r":\d+$", "", place), rule) for place, rule in rows("corpus-engines.md", "Errors"))
    judged = {
        (file, rule): int(times) for file, rule, times, _ in rows("false-alarms.md", "Errors of the engines' commands")
    }
    assert dict(found) == judged


def test_warnings_are_rare_and_nothing_crashes() -> None:
    files = sum(int(row[2]) for row in rows("corpus-engines.md", "Files"))
    warnings = sum(int(row[2]) for row in rows("corpus-engines.md", "Findings") if row[0] == "warning")
    assert files > 1400
    assert warnings <= 0.05 * files
    assert "Crashes: 0." in (DOCS / "corpus-engines.md").read_text(encoding="utf-8")


def test_launches_are_read_as_their_engine() -> None:
    read = {(kind, framework): int(times) for kind, framework, times in rows("corpus-engines.md", "Read as")}
    for kind in ("vllm-shell", "sglang-shell", "mindie-shell"):
        own = sum(times for (of, framework), times in read.items() if of == kind and framework != "not recognised")
        assert own >= 0.9 * sum(times for (of, _), times in read.items() if of == kind)
