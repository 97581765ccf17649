"""Inputs that are made to break: each is answered by validate and diagnose, on the command line and over MCP.

tests/hostile/ holds those that fit a file; what is large or no text is made here. A new file there is a new case.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from grpo_guard.cli import main

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parents[1] / "hostile"
FILES = sorted(path.name for path in FOLDER.iterdir())
LAUNCH = b"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n"
MADE: dict[str, Callable[[], bytes]] = {
    "binary.yaml": lambda: bytes(range(256)) * 400,
    "elf.sh": lambda: b"\x7fELF\x02\x01\x01" + bytes(5_000),
    "zipped.json": lambda: gzip.compress(b'{"a": 1}' * 1_000, mtime=0),
    "utf16.sh": lambda: LAUNCH.decode().encode("utf-16"),
    "utf16-without-mark.sh": lambda: LAUNCH.decode().encode("utf-16-le"),
    "latin1.yaml": lambda: "num_generations: 1  # café\n".encode("latin-1"),
    "surrogates.sh": lambda: LAUNCH.replace(b"n=1", b"n=1 x=\xed\xa0\x80"),
    "nul.log": lambda: b"step:1 - actor/grad_norm:0.5\0\n" * 50,
    "long-line.sh": lambda: LAUNCH.strip() + b" a=" + b"x" * 300_000 + b"\n",
    "long-line.log": lambda: b"step:1 - actor/grad_norm:nan " + b"y" * 400_000 + b"\nValueError: z\n",
    "many-keys.yaml": lambda: b"".join(b"key_%d: %d\n" % (n, n) for n in range(2_500)),
    "many-keys.json": lambda: b"{" + b",".join(b'"a%d": [%d]' % (n, n) for n in range(2_500)) + b"}",
    "many-launches.sh": lambda: LAUNCH * 60,
    "many-arguments.sh": lambda: LAUNCH.strip() + b"".join(b" +a.b%d=%d" % (n, n) for n in range(1_500)) + b"\n",
    "many-errors.log": lambda: b"".join(b"RuntimeError: CUDA error %d\n" % n for n in range(4_000)),
    "many-metrics.log": lambda: b"step:1" + b"".join(b" - m/a%d:%d" % (n, n) for n in range(2_100)) + b"\n",
    "open-brackets.json": lambda: b"[" * 100_000,
    "blanks.sh": lambda: LAUNCH.strip() + b" " * 150_000 + b"x=1\n",
    "carriage-returns.log": lambda: b"\r" * 100_000 + b"ValueError: x\n",
    "events.out.tfevents.1": lambda: struct.pack("<QI", 24, 0) + b"\x09" + b"\xff" * 40,
}
NAMES = FILES + list(MADE)


def test_there_are_at_least_sixty():
    assert len(FILES) >= 60


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    for name in FILES:
        shutil.copy(FOLDER / name, place)
    for name, make in MADE.items():
        (place / name).write_bytes(make())
    return place


@pytest.fixture(scope="module")
async def client(anyio_backend, folder):
    server = StdioServerParameters(command=sys.executable, args=["-m", "grpo_guard", "serve"], cwd=folder)
    async with Client(server) as connected:
        yield connected


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_answers(folder, name, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    for arguments in (
        ["validate", name, "--ruleset", "seed", "--detail", "full"],
        ["diagnose", "--log", name],
        ["diagnose", "--config", name, "--symptoms", "loss is nan"],
    ):
        code = main(arguments)
        told = capsys.readouterr()
        assert code in ((0, 1, 2) if arguments[0] == "validate" else (0, 2))
        assert (told.out == "") == (code == 2)
        assert told.err.count("\n") == (1 if code == 2 else 0)
        assert all(letter.isprintable() or letter.isspace() for letter in told.out + told.err)
    assert not (folder / "owned").exists()


@pytest.mark.parametrize("name", NAMES)
async def test_the_server_answers_and_stays_short(client, name):
    for tool, arguments in (
        ("validate_config", {"path": name}),
        ("diagnose", {"log_path": name}),
        ("diagnose", {"config_path": name, "symptoms": "loss is nan"}),
    ):
        result = await client.call_tool(tool, arguments)
        (block,) = result.content
        if result.is_error:
            assert "\n" not in block.text and "please report" not in block.text
        else:
            assert len(json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))) <= 3_400
        assert all(letter.isprintable() or letter.isspace() for letter in block.text)


async def test_the_server_still_works_afterwards(client):
    result = await client.call_tool("validate_config", {"config": LAUNCH.decode()})
    assert "one-sample-groups" in [finding["rule"] for finding in result.structured_content["findings"]]


@pytest.mark.skipif(os.name == "nt" or (os.geteuid() == 0 and not Path("/dev/zero").exists()), reason="POSIX devices")
@pytest.mark.parametrize("name", ["/dev/zero", "/proc/self/environ", "pipe", "loop", "a\0b", "x" * 5_000, "."])
async def test_what_is_no_file_inside_is_one_line(client, folder, name):
    if name == "pipe" and not (folder / "pipe").exists():
        os.mkfifo(folder / "pipe")
    if name == "loop" and not (folder / "loop").is_symlink():
        (folder / "loop").symlink_to("loop")
    for tool, argument in (("validate_config", "path"), ("diagnose", "log_path"), ("estimate_memory", "path")):
        result = await client.call_tool(tool, {argument: name})
        assert result.is_error and "\n" not in result.content[0].text
        assert len(result.content[0].text) < 600
