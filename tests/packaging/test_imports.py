"""What a run loads and touches: the command line stays light, and nothing leaves the process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks/data/verl_grpo.sh"

# Runs the rest of the arguments as the command line; prints what was loaded and what the interpreter was asked to do.
WATCH = """
import contextlib, io, json, sys

WATCHED = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.remove",
           "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.putenv", "shutil.", "ctypes.", "urllib.", "pty.")
seen = []

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if not str(path).endswith((".pyc", ".tmp")) and (flags & 0o3 or (mode and set(mode) & set("wax+"))):
            seen.append(f"open {path} {mode}")
    elif event.startswith(WATCHED):
        seen.append(event)

from grpo_guard.cli import main

sys.addaudithook(watch)
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
done = list(seen)
print(json.dumps({"code": code, "modules": sorted(sys.modules), "events": done}))
"""

HEAVY = {
    "mcp",
    "mcp_types",
    "numpy",
    "pydantic",
    "pydantic_core",
    "anyio",
    "asyncio",
    "starlette",
    "httpx",
    "jsonschema",
}
USER_CODE = {
    "verl",
    "trl",
    "torch",
    "deepspeed",
    "transformers",
    "vllm",
    "openrlhf",
    "accelerate",
    "hydra",
    "omegaconf",
}


def watched(*arguments: str, cwd: Path) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def validate(tmp_path_factory) -> dict:
    return watched("validate", str(SCRIPT), cwd=tmp_path_factory.mktemp("empty"))


def test_validate_loads_no_heavy_module(validate):
    assert HEAVY & {name.partition(".")[0] for name in validate["modules"]} == set()


@pytest.mark.parametrize(
    "arguments, loaded",
    [(["proof"], set()), (["explain", "D07", "--view", "theory"], set()), (["proof", "gs=1"], {"numpy"})],
    ids=["list", "explain", "one"],
)
def test_only_a_check_that_runs_loads_numpy(arguments, loaded, tmp_path):
    modules = {name.partition(".")[0] for name in watched(*arguments, cwd=tmp_path)["modules"]}
    assert modules & {"numpy", "mcp", "pydantic"} == loaded


def test_validate_loads_no_trainer(validate):
    assert USER_CODE & {name.partition(".")[0] for name in validate["modules"]} == set()


def test_validate_neither_writes_nor_starts_nor_connects(validate):
    assert validate["events"] == []


def test_a_module_of_the_user_is_not_imported(tmp_path):
    """Names that a config is likely to have beside it."""
    for name in ("yaml", "verl", "rapidfuzz", "reward"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the user was run')\n")
    (tmp_path / "run.sh").write_text(SCRIPT.read_text())
    done = subprocess.run(
        [Path(sys.executable).with_name("grpo-guard"), "validate", "run.sh"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "a file of the user was run" not in done.stdout + done.stderr


def test_the_tool_list_is_there_before_the_domain(tmp_path):
    """Start-up imports what describes the tools; readers and rules come with the first call."""
    code = "import json, sys; import grpo_guard.app, grpo_guard.transport; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    ours = {name for name in json.loads(done.stdout) if name.startswith("grpo_guard.")}
    assert not [
        name for name in ours if name.startswith(("grpo_guard.checks", "grpo_guard.store", "grpo_guard.validate"))
    ]
    assert {name for name in ours if name.startswith("grpo_guard.configs")} == {
        "grpo_guard.configs",
        "grpo_guard.configs.values",
    }
