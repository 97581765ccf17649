#!/usr/bin/env python3
"""Runs the public conformance suite, the MCP Inspector and the manifests' validators against this checkout.

Needs npm and the package registry; not part of the tests. Node 22 and the tools are installed into CACHE (npm's own
`node` package, so the machine's Node does not matter). Prints one line per check and a Markdown table for README.md.

  python scripts/conformance.py                     start `grpo-guard serve --http` on a free port, then check it
  python scripts/conformance.py --url URL           check a server that runs already
  python scripts/conformance.py --write             put the table into README.md
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "node@22",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@anthropic-ai/mcpb@2.1.2",
    "skills-ref@0.1.5",
)
# Scenarios that need no fixture tools of an SDK, by protocol revision; "" for an extension
SCENARIOS = {
    "2025-11-25": ("server-initialize", "ping", "tools-list", "dns-rebinding-protection"),
    "2026-07-28": (
        "tools-list", "resources-list", "prompts-list", "completion-complete", "caching",
        "sep-2164-resource-not-found", "dns-rebinding-protection", "http-header-validation", "server-stateless",
    ),
    "": ("sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"),
}  # fmt: skip
# What the suite says of a check that calls a tool of the SDKs' test server, which no other server has
UNTESTABLE = '"errorMessage": "Not testable: server does not list the diagnostic tool'
ERAS = ("legacy", "auto", "modern")
MARKS = ("<!-- conformance -->", "<!-- end conformance -->")


@dataclass(frozen=True)
class Outcome:
    """One check: what was run, what it printed in short, and whether that is what is expected."""

    tool: str
    check: str
    result: str
    good: bool


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running server's address, e.g. http://127.0.0.1:8930/mcp")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "grpo-guard-conformance")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    arguments = parser.parse_args(argv)
    tools = install(arguments.cache)
    with contextlib.nullcontext(arguments.url) if arguments.url else served() as url:
        outcomes = [*scenarios(tools, url), *inspections(tools, url), *manifests(tools)]
    for outcome in outcomes:
        print(f"{'ok  ' if outcome.good else 'FAIL'} {outcome.tool}: {outcome.check}: {outcome.result}")
    if arguments.write:
        write_table(outcomes)
    return int(not all(outcome.good for outcome in outcomes))


def install(cache: Path) -> Path:
    """The folder of the tools' commands, installed when it is not there yet."""
    commands = cache / "node_modules" / ".bin"
    stamp = cache / "installed"
    if not stamp.is_file() or stamp.read_text() != "\n".join(PACKAGES):
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "package.json").write_text('{"private": true}\n')
        # node's own package fetches its binary in a script that newer npm versions run only when asked
        for command in (
            ["npm", "install", "--no-audit", "--no-fund", PACKAGES[0]],
            ["npm", "rebuild", "node"],
            ["npm", "install", "--no-audit", "--no-fund", "--force", *PACKAGES[1:]],
        ):
            subprocess.run(command, cwd=cache, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stamp.write_text("\n".join(PACKAGES))
    return commands


@contextlib.contextmanager
def served() -> Iterator[str]:
    """A server of this checkout on a free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "grpo_guard", "serve", "--http", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT / "examples", stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise SystemExit(f"the server did not listen on port {port} within {seconds:.0f} s")


def run(tools: Path, *command: str) -> tuple[int, str]:
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(tools / command[0]), *command[1:]], cwd=ROOT, env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def scenarios(tools: Path, url: str) -> Iterator[Outcome]:
    for revision, names in SCENARIOS.items():
        for name in names:
            which = ["--spec-version", revision] if revision else ["--force"]
            _, text = run(tools, "conformance", "server", "--url", url, "--scenario", name, *which)
            counts = re.search(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings", text)
            if counts is None:
                yield Outcome("conformance", f"{name} {revision}".strip(), text.strip()[-200:], False)
                continue
            passed, total, failed, warnings = map(int, counts.groups())
            if failed:
                _, text = run(tools, "conformance", "server", "--url", url, "--scenario", name, *which, "--verbose")
            good = failed == text.count(UNTESTABLE) and passed > 0
            note = f", {failed} need a tool of the SDKs' test server" if good and failed else ""
            note += f", {failed} failed" if failed and not good else ""
            note += f", {warnings} warnings" if warnings else ""
            yield Outcome("conformance", f"{name} {revision}".strip(), f"{passed}/{total}{note}", good)


def inspections(tools: Path, url: str) -> Iterator[Outcome]:
    stdio = (sys.executable, "-m", "grpo_guard", "serve")
    targets = {"stdio": stdio, "http": (url, "--transport", "http")}
    for transport, target in targets.items():
        for era in ERAS:
            flags = ("--method", "tools/list", "--strict", "--protocol-era", era)
            code, _ = run(tools, "mcp-inspector", "--cli", *target, *flags)
            yield Outcome("inspector", f"tools/list --strict, {era} era, {transport}", f"exit code {code}", code == 0)
    flags = ("--method", "skills/list", "--verify", "--require-digests", "--protocol-era", "modern")
    code, text = run(tools, "mcp-inspector", "--cli", *stdio, *flags)
    told = re.search(r"Verified .*", text)
    yield Outcome("inspector", "skills/list --verify --require-digests", told[0] if told else f"exit {code}", code == 0)


def manifests(tools: Path) -> Iterator[Outcome]:
    code, text = run(tools, "mcpb", "validate", "manifest.json")
    yield Outcome("mcpb", "validate manifest.json", text.strip().splitlines()[-1], code == 0)
    for skill in sorted(path.parent for path in ROOT.glob("skills/*/SKILL.md")):
        code, text = run(tools, "skills-ref", "validate", str(skill.relative_to(ROOT)))
        yield Outcome("skills-ref", f"validate skills/{skill.name}", f"exit code {code}", code == 0)


def write_table(outcomes: Sequence[Outcome]) -> None:
    readme = ROOT / "README.md"
    rows = [f"| {outcome.tool} | {outcome.check} | {outcome.result} |" for outcome in outcomes]
    table = "\n".join([MARKS[0], "| tool | check | result |", "|---|---|---|", *rows, MARKS[1]])
    text = readme.read_text(encoding="utf-8")
    start, end = (text.index(mark) for mark in MARKS)
    readme.write_text(text[:start] + table + text[end + len(MARKS[1]) :], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
