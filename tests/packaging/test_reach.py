"""The files by which hosts install grpo-guard: valid by their validators, and of one version.

What needs npm or the network (`mcpb validate`, `skills-ref`, the conformance suite) is in scripts/conformance.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from grpo_guard import __version__

ROOT = Path(__file__).parents[2]
MANIFESTS = (
    "server.json", "manifest.json", "plugin.json", "mcp.json", ".mcp.json", "gemini-extension.json",
    ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json",
)  # fmt: skip


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A console script of the environment that runs the tests."""
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    return subprocess.run(command, capture_output=True, check=False)


@pytest.mark.parametrize("name", ["server.json", "manifest.json", "plugin.json", "gemini-extension.json"])
def test_manifests_have_the_version_of_the_package(name):
    assert read(name)["version"] == __version__


def test_the_registry_entry_and_the_claude_plugin_have_it_too():
    assert [package["version"] for package in read("server.json")["packages"]] == [__version__]
    assert read(".claude-plugin/plugin.json")["version"] == __version__


def test_the_readme_proves_who_owns_the_registry_name():
    assert f"mcp-name: {read('server.json')['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_host_starts_the_same_command():
    for name in (".mcp.json", "mcp.json", "gemini-extension.json"):
        (server,) = read(name)["mcpServers"].values()
        assert (server["command"], server["args"]) == ("uvx", ["grpo-guard"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], list(project["scripts"])) == ("grpo-guard", ["grpo-guard"])  # as `uvx NAME` needs it


def lint(folder: Path) -> Any:
    done = run("skillsaw", "lint", str(folder), "--format", "json")
    return json.loads(done.stdout)


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """A folder with all that hosts read, and nothing else."""
    shutil.copytree(ROOT / "skills", tmp_path / "skills")
    for name in (*MANIFESTS, "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_plugins_and_the_registry_entry_pass_skillsaw(manifests):
    answer = lint(manifests)
    assert answer["stats"]["repo_types"] == ["agent-plugin", "agentskills", "marketplace", "mcp-registry"]
    assert answer["violations"] == []


def test_skillsaw_sees_a_description_that_the_registry_refuses(manifests):
    entry = read("server.json") | {"description": "x" * 101}
    (manifests / "server.json").write_text(json.dumps(entry))
    assert lint(manifests)["summary"]["errors"] == 1


@pytest.mark.parametrize("skill", sorted(path.parent.name for path in ROOT.glob("skills/*/SKILL.md")))
def test_skills_pass_the_reference_validator(skill):
    done = run("agentskills", "validate", str(ROOT / "skills" / skill))
    assert done.returncode == 0, done.stderr


def test_the_bundle_leaves_out_what_it_does_not_need():
    ignored = (ROOT / ".mcpbignore").read_text(encoding="utf-8").split()
    needed = {"LICENSE", "README.md", "knowledge", "manifest.json", "pyproject.toml", "server", "skills"}
    kept = {name.split("/", 1)[0] for name in tracked()} - set(ignored) - {".gitignore", ".mcpbignore"}
    assert kept == needed


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return listed.stdout.splitlines()
