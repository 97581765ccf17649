"""Server start to the answer to `tools/list`, against a bare server of the same SDK with one trivial tool.

Run it in the environment that grpo-guard is installed in: python benchmarks/cold_start.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from time import perf_counter

from timing import interleave, print_goal, print_table, ratio

BARE = """
from mcp.server import MCPServer

server = MCPServer("bare")


@server.tool()
def echo(text: str) -> str:
    return text


server.run()
"""

SERVERS = {
    "bare SDK server": [sys.executable, "-c", BARE],
    "grpo-guard": [sys.executable, "-m", "grpo_guard", "serve"],
}

REQUESTS = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]


def start_and_list(command: Sequence[str]) -> float:
    """Seconds from the start of the process to the tool list. Raises RuntimeError when there is none."""
    start = perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin and process.stdout
    process.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in REQUESTS))
    process.stdin.flush()
    answered = any(json.loads(line).get("id") == 2 for line in process.stdout)
    seconds = perf_counter() - start
    _, errors = process.communicate()
    if not answered:
        raise RuntimeError(f"{command[:3]} gave no tool list: {errors.decode()[-500:]}")
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    seconds = interleave({name: partial(start_and_list, command) for name, command in SERVERS.items()}, rounds)
    print_table(seconds)
    print_goal("grpo-guard / bare", ratio(seconds, "grpo-guard", "bare SDK server"), 1.05)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
