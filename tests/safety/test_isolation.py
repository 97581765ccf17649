"""A server that answers every tool opens no connection, starts nothing, writes nothing and runs no file of the user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grpo_guard.app import TOOLS

ROOT = Path(__file__).parents[2]

# Starts the command line with a hook that reports on standard error what the interpreter is asked to do.
WATCHED_SERVER = """
import os, sys

WATCHED = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
           "socket.gethostby", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn",
           "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink",
           "os.truncate", "shutil.", "urllib.", "ftplib.", "http.client.", "smtplib.", "pty.")


def report(line):
    os.write(2, ("AUDIT " + line + "\\n").encode())

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        if writes and not isinstance(path, int) and not str(path).endswith(".pyc") and ".pyc." not in str(path):
            report(f"open for writing: {path}")
    elif event == "import":
        if arguments[0].partition(".")[0] in USER_CODE:
            report(f"import {arguments[0]}")
    elif event.startswith(WATCHED):
        report(f"{event} {arguments!r}"[:300])

USER_CODE = {"verl", "trl", "torch", "deepspeed", "transformers", "vllm", "openrlhf", "accelerate", "hydra",
             "omegaconf", "reward", "sitecustom"}
from grpo_guard.cli import main

sys.addaudithook(watch)
if os.environ.get("PLANT"):
    __import__("socket").getaddrinfo("127.0.0.1", 1)
sys.exit(main(sys.argv[1:]))
"""

BOMB = "import os\nos.write(2, b'AUDIT a file of the user was run\\n')\n"
SCRIPT = """source ./settings.sh
export HF_TOKEN=$(curl http://127.0.0.1:1/token)
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=$(python reward.py) \\
    custom_reward_function.path=reward.py actor_rollout_ref.model.path=Qwen/Qwen3-4B
"""
TRL = "from trl import GRPOConfig\nimport reward\nconfig = GRPOConfig(num_generations=1)\nreward.run()\n"
EVIL_YAML = "a: !!python/object/apply:os.system ['touch owned']\nlr: 1\nb: ${oc.env:HOME}\n"

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("validate_config", {"path": "run.sh"}),
    ("validate_config", {"path": "train.py", "ruleset": "seed", "detail": "full"}),
    ("validate_config", {"config": EVIL_YAML}),
    ("diagnose", {"symptoms": "loss is nan", "log_path": "train.log", "config_path": "run.sh"}),
    ("symptoms", {"query": "reward does not rise"}),
    ("playbook", {"topic": "fsdp"}),
    ("fixes", {"bug": "verl-6782"}),
    ("matrix", {"view": "cross", "bug": "verl-6782"}),
    ("avoid", {"focus": "nan", "framework": "verl"}),
    ("explain", {"id": "D07"}),
    ("proof", {"id": "group-size-one"}),
    ("rtx4090", {"topic": "config"}),
    ("estimate_memory", {"path": "run.sh"}),
    ("match_skill", {"query": "GRPO NaN"}),
    ("read_reference", {"search": "sleep"}),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("verl", "trl", "torch", "yaml", "rapidfuzz", "numpy", "reward", "anyio", "mcp"):
        (tmp_path / f"{name}.py").write_text(BOMB)
    (tmp_path / "run.sh").write_text(SCRIPT)
    (tmp_path / "settings.sh").write_text("X=$(touch owned)\n")
    (tmp_path / "train.py").write_text(TRL)
    (tmp_path / "train.log").write_text("step:1 - actor/grad_norm:nan\nValueError: `touch owned`\n")
    return tmp_path


def answers(project: Path, **environment: str) -> tuple[list[dict[str, Any]], str]:
    """The results of all calls, and what stood on standard error."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    requests = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}]
    requests += [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        for number, (tool, arguments) in enumerate(CALLS, 1)
    ]
    started = ["-P", "-c", WATCHED_SERVER, "serve", "--root", str(project)]
    done = subprocess.run(
        [sys.executable, *started],
        input="".join(json.dumps(request) + "\n" for request in requests),
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": "/home/planted", **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted(lines, key=lambda line: line["id"])[1:], done.stderr


def test_every_tool_is_called():
    called = {tool for tool, _ in CALLS}
    assert {tool.name for tool in TOOLS} <= called


def test_no_network_no_process_no_file_and_no_code_of_the_user(project):
    before = {path.name for path in project.iterdir()}
    found, errors = answers(project)
    assert [line["result"]["isError"] for line in found if "result" in line].count(False) >= len(CALLS) - 1
    assert errors == ""
    assert {path.name for path in project.iterdir()} == before
    assert "/home/planted" not in json.dumps(found)


def test_the_watch_sees_what_it_is_there_for(project):
    _, errors = answers(project, PLANT="1")
    assert "AUDIT socket.getaddrinfo" in errors
