#!/usr/bin/env python3
"""Measure validate on the launch commands that the rollout engines publish, and count them in docs/corpus-engines.md.

The engines' repositories hold few scripts and many commands inside Markdown, so every fenced block counts as a file of
its own (`page.md.03.sh` is the fourth block of page.md). A source is a git clone (bare or not) or an unpacked source
distribution; nothing in it is run.

  python scripts/corpus_engines.py CORPUS --make vllm-project/recipes=CLONE vllm-project/vllm@v0.33.0=FOLDER ...
  python scripts/corpus_engines.py CORPUS                  validate all of it, print findings and unknown keys
  python scripts/corpus_engines.py CORPUS --write-docs     also write docs/corpus-engines.md

CORPUS is laid out as scripts/corpus.py reads it: index.json and trees/.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus import Failures, Item, load_items, time_limit

from grpo_guard.model import Report
from grpo_guard.validate import validate_targets

DOCS = Path(__file__).resolve().parent.parent / "docs"
# What a snapshot itself states; the others name no release
VERSIONS: Mapping[str, Mapping[str, str]] = {
    "vllm-project/vllm@v0.33.0": {"vllm": "0.33.0"},
    "Ascend/MindIE-LLM": {"mindie-llm": "3.0.0"},
}
SUFFIXES = (".sh", ".py", ".yaml", ".yml", ".json", ".md")
MAX_CHARS = 600_000
_FENCE = re.compile(r"^([ \t]*)```[ ]*([\w{}.-]*)[^\n]*\n(.*?)^\s*```", re.MULTILINE | re.DOTALL)
_LANGUAGES = {
    **dict.fromkeys(("bash", "shell", "sh", "console", "text", ""), "sh"),
    **dict.fromkeys(("python", "py"), "py"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    "json": "json",
}
_SHELL = re.compile(r"vllm serve|vllm\.entrypoints|sglang\.launch_server|sglang serve|mindieservice_daemon")
_CALL = re.compile(r"\b(?:LLM|AsyncEngineArgs|EngineArgs|SamplingParams|Engine|ServerArgs)\(")
_IMPORT = re.compile(r"^\s*(?:from|import) .*\b(?:vllm|sglang)\b", re.MULTILINE)
_SECTION = re.compile(r'"(?:BackendConfig|ServerConfig)"')


# --- making it --------------------------------------------------------------------------------------------------------


def make(corpus: Path, sources: Mapping[str, Path]) -> None:
    rows = []
    for repo, source in sorted(sources.items()):
        commit, files = _files(source)
        tree = corpus / "trees" / repo.replace("/", "+")
        (tree / ".git").mkdir(parents=True, exist_ok=True)  # marks the root of the project
        for path, text in files:
            for place, block in _blocks(path, text):
                if kind := kind_of(place, block):
                    (tree / place).parent.mkdir(parents=True, exist_ok=True)
                    (tree / place).write_text(block, encoding="utf-8")
                    rows.append({"repo": repo, "commit": commit, "path": place, "kind": kind})
    (corpus / "index.json").write_text(json.dumps(rows, indent=0), encoding="utf-8")
    print(f"{len(rows)} files")


def _files(source: Path) -> tuple[str, Iterator[tuple[str, str]]]:
    """The commit of a clone ("" for a folder), and its text files."""
    if not (source / "HEAD").is_file() and not (source / ".git").exists():
        found = (path for path in sorted(source.rglob("*")) if path.is_file() and path.suffix in SUFFIXES)
        return "", ((str(path.relative_to(source)), path.read_text(errors="replace")) for path in found)
    git = ["git", "-C", str(source)]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    listed = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if name.endswith(SUFFIXES) and '"' not in name]
    return commit, ((name, _shown(git, name)) for name in names)


def _shown(git: list[str], name: str) -> str:
    answer = subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, check=False)
    return answer.stdout.decode("utf-8", "replace") if answer.returncode == 0 else ""


def _blocks(path: str, text: str) -> Iterator[tuple[str, str]]:
    """A file, or the fenced blocks of a page."""
    if len(text) > MAX_CHARS:
        return
    if not path.endswith(".md"):
        yield path, text
        return
    for number, (indent, language, body) in enumerate(_FENCE.findall(text)):
        if (suffix := _LANGUAGES.get(language.lower())) is not None:
            lines = (line.removeprefix(indent) for line in body.split("\n"))
            yield f"{path}.{number:02d}.{suffix}", "\n".join(lines)


def kind_of(path: str, text: str) -> str:
    """Kind of a file that concerns an engine, "" for others."""
    if path.endswith(".sh") and (found := set(_SHELL.findall(text))):
        engine = "mindie" if "mindieservice_daemon" in found else "vllm"
        return f"{'sglang' if all('sglang' in word for word in found) else engine}-shell"
    if path.endswith(".py") and _CALL.search(text) and _IMPORT.search(text):
        return f"{'vllm' if 'vllm' in text else 'sglang'}-python"
    return "mindie-json" if path.endswith(".json") and _SECTION.search(text) else ""


# --- measuring it -----------------------------------------------------------------------------------------------------


@dataclass
class Result:
    failures: Failures = field(default_factory=Failures)
    files: Counter[tuple[str, str]] = field(default_factory=Counter)  # repository, kind
    read_as: Counter[tuple[str, str]] = field(default_factory=Counter)  # kind, framework
    settings: Counter[str] = field(default_factory=Counter)  # kind -> settings that the user wrote and a field holds
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)  # severity, rule
    errors: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)


def measure(items: list[Item]) -> Result:
    result = Result()
    for item in items:
        result.files[(item.repo, item.kind)] += 1
        report = result.failures.attempt(item, lambda item=item: _report(item))  # type: ignore[misc]
        if report is None:
            continue
        result.read_as[(item.kind, report.framework or "not recognised")] += 1
        result.settings[item.kind] += sum(setting.origin == "explicit" for setting in report.settings)
        for finding in report.findings:
            result.findings[(finding.severity, finding.rule)] += 1
            if finding.severity == "error":
                line = finding.setting.line if finding.setting else 0
                result.errors.append((f"{item.name}:{line}", finding.rule))
        result.unknown += [(f"{item.name}:{row.line}", row.key) for row in report.unknown_keys]
    return result


def _report(item: Item) -> Report:
    with time_limit():
        return validate_targets([item.file], versions=VERSIONS.get(item.repo, {}))


def page(result: Result, seconds: float) -> str:
    parts = [
        "# Commands that the rollout engines publish\n\n"
        "Generated: `python scripts/corpus_engines.py CORPUS --write-docs`. Scripts, Python files and configurations "
        "of the engines' own repositories, and every fenced block of their Markdown pages. The files are not part of "
        "this repository.",
        "## Files\n\n"
        + _table(("repository", "kind", "files"), [(*key, n) for key, n in sorted(result.files.items())]),
        "## Read as\n\nNot recognised are, for the greater part, files without a launch and `LLM(**arguments)`.\n\n"
        + _table(("kind", "framework", "files"), [(*key, n) for key, n in sorted(result.read_as.items())]),
        "Settings written by the user that fill a canonical field: "
        + ", ".join(f"{kind} {number:,}" for kind, number in sorted(result.settings.items()))
        + f". Crashes: {len(result.failures.crashed)}. Refused with one clear line: {len(result.failures.refused)} "
        "(pieces of JSON and Python that are no whole file).",
        "## Findings\n\n" + _table(("severity", "rule", "times"), _ordered(result.findings)),
        "## Errors\n\nJudged one by one in [false-alarms.md](false-alarms.md).\n\n"
        + _table(("place", "rule"), sorted(set(result.errors))),
        "## Unknown keys\n\n" + _table(("place", "key"), sorted(set(result.unknown))),
    ]
    print(f"{sum(result.files.values())} files in {seconds:.1f} s")
    return "\n\n".join(parts) + "\n"


def _ordered(findings: Counter[tuple[str, str]]) -> list[tuple[Any, ...]]:
    order = ("error", "warning", "info")
    rows = sorted(findings.items(), key=lambda row: (order.index(row[0][0]), -row[1], row[0][1]))
    return [(*key, number) for key, number in rows]


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--make", nargs="+", metavar="REPO=SOURCE", help="make the corpus from these sources")
    parser.add_argument("--write-docs", action="store_true", help="write docs/corpus-engines.md")
    arguments = parser.parse_args(argv)
    if arguments.make:
        make(arguments.corpus, {repo: Path(path) for repo, _, path in (pair.partition("=") for pair in arguments.make)})
    started = time.perf_counter()
    result = measure(load_items(arguments.corpus))
    text = page(result, time.perf_counter() - started)
    if arguments.write_docs:
        (DOCS / "corpus-engines.md").write_text(text, encoding="utf-8")
    else:
        print(text)
    for line in result.failures.crashed:
        print(f"CRASH {line}", file=sys.stderr)
    return 1 if result.failures.crashed else 0


if __name__ == "__main__":
    sys.exit(main())
