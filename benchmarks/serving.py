"""Serving, against a bare server of the same SDK with one trivial tool: start, memory, latency over stdio, HTTP calls.

Run it in the environment that grpo-guard is installed in: python benchmarks/serving.py [--rounds 9] [--calls 400]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from cold_start import REQUESTS, SERVERS, start_and_list
from timing import interleave, print_goal, print_table, ratio

CONNECTIONS = 10
BARE_HTTP = """
import socket, sys, uvicorn
from mcp.server import MCPServer

server = MCPServer("bare", log_level="WARNING")


@server.tool()
async def echo(text: str) -> str:
    return text


listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen()
print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
app = server.streamable_http_app(stateless_http=True, json_response=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, ws="none")).run(sockets=[listening])
"""
HTTP_SERVERS = {
    "bare SDK server": [sys.executable, "-c", BARE_HTTP],
    "grpo-guard": [sys.executable, "-m", "grpo_guard", "serve", "--http", "--port", "0"],
}
SCRIPT = (Path(__file__).parent / "data/verl_grpo.sh").read_text(encoding="utf-8")
NEW = "loss is nan in step {}"  # becomes another question with every call
ECHO = ("echo", {"text": "loss is nan"})
SYMPTOMS = ("symptoms", {"query": "loss is nan"})
_numbers = count()
# What is timed over stdio: title, server, tool and arguments
STDIO_CALLS = {
    "bare SDK server: echo": ("bare SDK server", *ECHO),
    "symptoms, asked before": ("grpo-guard", *SYMPTOMS),
    "symptoms, new words": ("grpo-guard", "symptoms", {"query": NEW}),
    "validate_config, a script": ("grpo-guard", "validate_config", {"config": SCRIPT}),
    "diagnose, words": ("grpo-guard", "diagnose", {"symptoms": "loss is nan after step 12"}),
    "fixes, one bug": ("grpo-guard", "fixes", {"bug": "verl-6782"}),
    "estimate_memory, a model": ("grpo-guard", "estimate_memory", {"model": "Qwen3-4B"}),
}


class Stdio:
    """A server on pipes, greeted."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for request in REQUESTS[:2]:
            self._send(request)
        self._receive()

    def _send(self, message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _receive(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def call(self, tool: str, arguments: dict[str, Any]) -> float:
        """Seconds of one call. Raises RuntimeError when it fails."""
        start = perf_counter()
        self._send(tool_call(tool, arguments))
        answer = self._receive()
        seconds = perf_counter() - start
        if answer.get("result", {}).get("isError", True):
            raise RuntimeError(f"{tool}: {answer}")
        return seconds

    def peak_mib(self) -> float:
        """Largest resident size so far, in MiB (Linux)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else float("nan")

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


def tool_call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments.get("query") == NEW:
        arguments = {"query": NEW.format(next(_numbers))}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def cold_start(rounds: int) -> None:
    print("Start to the answer to tools/list")
    seconds = interleave({name: partial(start_and_list, command) for name, command in SERVERS.items()}, rounds)
    print_table(seconds)
    print_goal("grpo-guard / bare", ratio(seconds, "grpo-guard", "bare SDK server"), 1.05)


def latency(calls: int) -> None:
    print(f"\nStdio, {calls} calls one after the other, after 20 that are not counted")
    servers = {name: Stdio(command) for name, command in SERVERS.items()}
    listed = {name: server.peak_mib() for name, server in servers.items()}
    print(f"{'':28} {'p50 ms':>9} {'p99 ms':>10}")
    for title, (name, tool, arguments) in STDIO_CALLS.items():
        for _ in range(20):
            servers[name].call(tool, arguments)
        times = sorted(servers[name].call(tool, arguments) for _ in range(calls))
        print(f"{title:28} {statistics.median(times) * 1000:9.2f} {times[int(len(times) * 0.99)] * 1000:10.2f}")
    print("\nPeak memory, MiB: after the start, after these calls")
    for name, server in servers.items():
        print(f"{name:28} {listed[name]:9.1f} {server.peak_mib():10.1f}")
        server.close()


def throughput(rounds: int, calls: int) -> None:
    print(f"\nHTTP, {calls} calls on {CONNECTIONS} connections, stateless, 2025-11-25, JSON answers")
    processes, addresses, pids = [], {}, {}
    for name, command in HTTP_SERVERS.items():
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stderr
        found = re.search(r"//([\d.]+):(\d+)/", process.stderr.readline())
        if found is None:
            raise RuntimeError(f"{name} did not start")
        addresses[name], pids[name] = (found[1], int(found[2])), process.pid
    try:
        candidates = {
            "bare SDK server": ("bare SDK server", *ECHO),
            "symptoms, asked before": ("grpo-guard", *SYMPTOMS),
            "symptoms, new words": ("grpo-guard", "symptoms", {"query": NEW}),
        }
        cpu = dict.fromkeys(candidates, 0.0)

        def run(title: str) -> float:
            server, tool, arguments = candidates[title]
            before = cpu_seconds(pids[server])
            spent = load(addresses[server], tool, arguments, calls)
            cpu[title] += cpu_seconds(pids[server]) - before
            return spent

        seconds = interleave({title: partial(run, title) for title in candidates}, rounds)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    print(f"{'':28} {'calls/s':>9} {'server CPU ms per call':>24}")
    for name, values in seconds.items():
        print(
            f"{name:28} {calls / statistics.median(values):9.0f} {cpu[name] / (len(values) + 1) / calls * 1000:24.2f}"
        )
    share = 1 / ratio(seconds, "symptoms, asked before", "bare SDK server")
    print(f"{'symptoms / bare, calls/s':28} {share:9.2f} goal 0.8: {'met' if share >= 0.8 else 'MISSED'}")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(address: tuple[str, int], tool: str, arguments: dict[str, Any], calls: int) -> float:
    """Seconds for `calls` calls on CONNECTIONS keep-alive connections, one open call on each."""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: "
    )
    connections = [socket.create_connection(address) for _ in range(CONNECTIONS)]
    start = perf_counter()
    for _ in range(calls // CONNECTIONS):
        for connection in connections:
            body = json.dumps(tool_call(tool, arguments))
            connection.sendall(f"{head}{len(body)}\r\n\r\n{body}".encode())
        for connection in connections:
            read_answer(connection)
    seconds = perf_counter() - start
    for connection in connections:
        connection.close()
    return seconds


def read_answer(connection: socket.socket) -> None:
    """One HTTP answer with a length. Raises RuntimeError when it is no success."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)content-length: (\d+)", head)
    if not head.startswith(b"HTTP/1.1 200") or found is None:
        raise RuntimeError(data[:300].decode())
    left = int(found[1]) - len(body)
    while left > 0:
        left -= len(connection.recv(left))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    cold_start(options.rounds)
    latency(options.calls)
    throughput(options.rounds, options.calls)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
