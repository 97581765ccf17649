"""Generate knowledge/notebook/auto-memory.md: the index of rules, patterns and notes that an assistant loads first.

python scripts/build_notes.py            write the note
python scripts/build_notes.py --check    exit 1 when the committed note is stale

Run it before build_index.py: the compiled look-up holds the note's sections.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from knowledge_files import KNOWLEDGE, load

from grpo_guard.checks.engine import version_text

Entry = dict[str, Any]
NOTEBOOK = KNOWLEDGE / "notebook"
TARGET = NOTEBOOK / "auto-memory.md"
SECTIONS = ("How to use this index", "Versions read", "Notes", "Failure patterns", "Rules of level error", "Known bugs")
HOW = """\
Generated from knowledge/ by scripts/build_notes.py; do not edit. Every line is an address, not an argument: read the
entry before acting on it.

- A config or launch script: `validate_config` first. It applies all {rules} rules and the bugs that a config shows,
  with line and key; the list below only says what exists.
- A failed or strange run: `diagnose` with words, log, config and versions; then `fixes` for the bug it names.
- An id below: `rule://ID`, `bug://ID`; a note: `notebook://NAME` or `read_reference(name, section)`.
- Versions decide most entries. Without one, an answer says "possible if ..." and is never an error.
"""


def note() -> str:
    """The whole note. Same knowledge, same text."""
    rules, bugs, notes = entries("rules/*.yaml"), entries("bugs/*/*.yaml"), list(note_heads())
    dates = sorted(str(entry["last_verified"]) for entry in (*rules, *bugs, *(head for _, head in notes)))
    bodies = (
        HOW.format(rules=len(rules)),
        versions_read(),
        notes_list(notes),
        pattern_list(rules, bugs),
        rule_list(rules),
        bug_table(bugs),
    )
    parts = [front_matter(dates), f"# What grpo-guard knows\n\n{totals(rules, bugs, notes, dates)}\n"]
    parts += [f"## {title}\n\n{body}" for title, body in zip(SECTIONS, bodies, strict=True)]
    return "\n".join(parts)


def entries(pattern: str) -> list[Entry]:
    return [load(path) for path in sorted(KNOWLEDGE.glob(pattern))]


def note_heads() -> Iterator[tuple[str, Entry]]:
    """Name and front matter of every note but this one."""
    for path in sorted(NOTEBOOK.rglob("*.md")):
        if path != TARGET:
            head = re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.DOTALL)
            if head is None:
                raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: no front matter between two lines of ---")
            yield path.relative_to(NOTEBOOK).with_suffix("").as_posix(), yaml.safe_load(head[1])


def front_matter(dates: list[str]) -> str:
    listed = "\n".join(f"  - {title}" for title in SECTIONS)
    return f"---\ntitle: Index of rules, patterns and notes\nlast_verified: {dates[-1]}\nsections:\n{listed}\n---"


def totals(rules: list[Entry], bugs: list[Entry], notes: list[tuple[str, Entry]], dates: list[str]) -> str:
    counted = f"{len(rules)} rules, {len(bugs)} bugs and {len(notes)} notes"
    return f"{counted}, checked at their sources between {dates[0]} and {dates[-1]}."


def versions_read() -> str:
    """Which releases of each package the key tables cover."""
    lines = []
    for path in sorted(KNOWLEDGE.glob("frameworks/*/keys.json")):
        table = json.loads(path.read_text(encoding="utf-8"))
        versions = table.get("versions") or list(table.get("revisions", ()))
        lines.append(f"- {path.parent.name}: {versions[0]} to {versions[-1]} ({len(versions)}), {table['checked']}")
    return "\n".join(lines) + "\n"


def notes_list(notes: list[tuple[str, Entry]]) -> str:
    lines = []
    for name, head in notes:
        applies = version_text(head.get("applies_to", {})) or "all versions"
        lines.append(f"- `{name}`: {head['title']} ({applies}; {head['last_verified']})")
    return "\n".join(lines) + "\n"


def pattern_list(rules: list[Entry], bugs: list[Entry]) -> str:
    """Each pattern with how many rules and bugs it has; those without an entry in patterns.yaml by their key."""
    path = KNOWLEDGE / "patterns.yaml"
    rows: list[Entry] = load(path) if path.exists() else []
    titles = {row["id"]: row["title"] for row in rows}
    of_rules, of_bugs = (Counter(entry["pattern"] for entry in some if entry.get("pattern")) for some in (rules, bugs))
    lines = []
    for key in [*titles, *sorted((of_rules.keys() | of_bugs.keys()) - titles.keys())]:
        title = titles.get(key, key.replace("_", " "))
        lines.append(f"- `{key}`: {title} (rules {of_rules[key]}, bugs {of_bugs[key]})")
    return "\n".join(lines) + "\n"


def rule_list(rules: list[Entry]) -> str:
    """The rules of level error, by framework, each with the versions it is bound to; the others are counted."""
    levels = Counter(rule["severity"] for rule in rules)
    parts = [
        f"The {levels['error']} rules of level error; {levels['warning']} warnings and {levels['info']} hints more are "
        "listed by `grpo-guard rules` and in docs/rules.md.\n"
    ]
    for framework, members in by_framework(rule for rule in rules if rule["severity"] == "error").items():
        named = (f"`{rule['id']}`" + bound(rule) for rule in members)
        parts.append(f"**{framework}**: {', '.join(named)}\n")
    return "\n".join(parts)


def bound(rule: Entry) -> str:
    versions = version_text(rule.get("affected", {}))
    return f" ({versions})" if versions else ""


def by_framework(rules: Iterator[Entry]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for rule in rules:
        names = rule.get("frameworks", [])
        groups.setdefault(names[0] if len(names) == 1 else "several frameworks", []).append(rule)
    return dict(sorted(groups.items()))


def bug_table(bugs: list[Entry]) -> str:
    """How many entries each package has; a bug is looked up by id, never from here."""
    lines = ["| package | entries | confirmed | newest check |", "|---|---|---|---|"]
    packages: dict[str, list[Entry]] = {}
    for path, bug in zip(sorted(KNOWLEDGE.glob("bugs/*/*.yaml")), bugs, strict=True):
        packages.setdefault(path.parent.name, []).append(bug)
    for package, members in packages.items():
        confirmed = sum(bug["verdict"] == "confirmed" for bug in members)
        newest = max(str(bug["last_verified"]) for bug in members)
        lines.append(f"| {package} | {len(members)} | {confirmed} | {newest} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 when stale")
    arguments = parser.parse_args()
    text, name = note(), Path("knowledge") / TARGET.relative_to(KNOWLEDGE)
    if arguments.check:
        fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
        print(f"{name} is fresh" if fresh else f"{name} is stale: run python scripts/build_notes.py")
        return 0 if fresh else 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"{name}: {len(text.encode()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
