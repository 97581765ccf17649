"""Many HTTP clients at once against several server processes, with and without one of them being killed.

  python benchmarks/load.py                         50 clients, 30 seconds, 2 processes
  python benchmarks/load.py --kill 10               also kill a process every 10 seconds and start it again

Each client sends one request after the other, to the processes in turn, on connections that are kept. A request whose
connection breaks is sent to the next process, as a balancer does. Every answer is compared with the answer of a quiet
server. Prints requests per second, latencies, what went wrong, and each process's memory over the time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOG = "\n".join(f"step:{i} - actor/pg_loss:0.01 - actor/grad_norm:{0.4 if i < 30 else 'nan'}" for i in range(40))
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("symptoms", {"query": "loss is nan after step 12"}),
    ("validate_config", {"path": "verl_lora.sh", "versions": {"verl": "0.8.0"}}),
    ("validate_config", {"config": "num_generations: 8\nbeta: 0.0\nlearning_rate: 1.0e-6\n", "framework": "trl"}),
    ("diagnose", {"symptoms": "loss is nan", "log": LOG}),
    ("fixes", {"bug": "verl-6782"}),
    ("matrix", {"view": "streams"}),
)


@dataclass
class Process:
    """One server process on a port of its own."""

    port: int
    running: subprocess.Popen[bytes] | None = None
    memory: list[int] = field(default_factory=list)  # MiB, one a second; a new process begins a new list
    lives: int = 0

    def start(self) -> None:
        command = [sys.executable, "-m", "grpo_guard", "serve", "--http", "--port", str(self.port)]
        self.running = subprocess.Popen(command, cwd=ROOT / "examples", stderr=subprocess.DEVNULL)
        self.lives += 1
        self.memory = []

    def resident_mib(self) -> int:
        assert self.running
        status = Path(f"/proc/{self.running.pid}/status").read_text()
        return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    async def answers(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            await asyncio.sleep(0.1)


@dataclass
class Tally:
    seconds: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    resent: int = 0


class Connection:
    """A kept connection to one process; opened when needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer. Raises OSError or EOFError when the connection breaks before its end."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + body)
            await writer.drain()
            answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(answer.partition("content-length:")[2].partition("\r\n")[0])
            return int(answer.split(" ", 2)[1]), await reader.readexactly(length)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def request(number: int, call: tuple[str, dict[str, Any]]) -> bytes:
    params = {"name": call[0], "arguments": call[1]}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def result(body: bytes) -> str:
    """The result as text that can be compared."""
    return json.dumps(json.loads(body)["result"], sort_keys=True)


async def client(number: int, ports: list[int], expected: list[str], end: float, tally: Tally) -> None:
    connections = [Connection(port) for port in ports]
    sent = number  # clients begin at different calls and processes
    while time.monotonic() < end:
        which, began = sent % len(CALLS), time.perf_counter()
        body = request(sent, CALLS[which])
        for attempt in range(200):
            try:
                status, answer = await connections[(sent + attempt) % len(connections)].post(body)
            except (OSError, EOFError, ValueError):
                tally.resent += 1
                await asyncio.sleep(0.05)
                continue
            if status == 503:
                tally.resent += 1
                await asyncio.sleep(0.05)
                continue
            if status != 200:
                tally.wrong[f"status {status}"] += 1
            elif result(answer) != expected[which]:
                tally.wrong[f"another answer to {CALLS[which][0]}"] += 1
            break
        else:
            tally.wrong["no answer"] += 1
        tally.seconds.append(time.perf_counter() - began)
        sent += 1
    for connection in connections:
        connection.close()


async def watch(processes: list[Process], end: float, kill: float) -> None:
    """Note the memory each second; every `kill` seconds one process is killed, and started a second later."""
    last, turn = time.monotonic(), 0
    while time.monotonic() < end:
        await asyncio.sleep(1)
        for process in processes:
            with contextlib.suppress(OSError):
                process.memory.append(process.resident_mib())
        if kill and time.monotonic() - last > kill:
            process = processes[turn % len(processes)]
            assert process.running
            process.running.send_signal(signal.SIGKILL)
            process.running.wait()
            await asyncio.sleep(1)
            process.start()
            await process.answers()
            last, turn = time.monotonic(), turn + 1


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def measure(clients: int, seconds: float, processes: list[Process], kill: float) -> Tally:
    for process in processes:
        process.start()
    for process in processes:
        await process.answers()
    ports, tally = [process.port for process in processes], Tally()
    quiet = [[result((await Connection(port).post(request(0, call)))[1]) for call in CALLS] for port in ports]
    assert all(answers == quiet[0] for answers in quiet), "two quiet processes differ"
    end = time.monotonic() + seconds
    work = [client(number, ports, quiet[0], end, tally) for number in range(clients)]
    await asyncio.gather(watch(processes, end, kill), *work)
    return tally


def report(options: argparse.Namespace, tally: Tally, processes: list[Process]) -> None:
    times = sorted(1000 * seconds for seconds in tally.seconds)
    rate = len(times) / options.seconds
    print(f"{options.clients} clients, {options.seconds:g} s, {options.processes} processes")
    print(f"answered    {len(times):,} ({rate:,.0f} a second)")
    print(f"latency     p50 {statistics.median(times):.0f} ms, p99 {times[int(len(times) * 0.99)]:.0f} ms")
    print(f"sent again  {tally.resent:,}")
    print(f"wrong       {dict(tally.wrong) or 0}")
    for process in processes:
        if not process.memory:
            print(f"memory      not measured: start {process.lives} on this port was a moment ago")
            continue
        third = max(1, len(process.memory) // 3)
        first, last = max(process.memory[:third]), max(process.memory[-third:])
        print(f"memory      {first} MiB in the first third, {last} in the last (start {process.lives} on this port)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kill", type=float, default=0, metavar="SECONDS", help="kill a process every so often")
    options = parser.parse_args()
    processes = [Process(free_port()) for _ in range(options.processes)]
    try:
        tally = asyncio.run(measure(options.clients, options.seconds, processes, options.kill))
    finally:
        for process in processes:
            if process.running:
                process.running.kill()
    report(options, tally, processes)
    return int(bool(tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
