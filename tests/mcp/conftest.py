"""A client that writes raw lines, for what a well-behaved SDK client never sends."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

EDGE_SERVER = Path(__file__).with_name("edge_server.py")


class RawClient:
    """One server process; every line that it prints must be JSON."""

    def __init__(self, command: list[str], cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._errors: list[bytes] = []
        self._error_lines: queue.Queue[str] = queue.Queue()
        self.greeting: dict[str, Any] = {}
        self._ids = iter(range(1, 1_000_000))
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)

    def _read_errors(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self._errors.append(line)
            self._error_lines.put(line.decode("utf-8", "replace").rstrip("\n"))

    def wait_for_error_line(self, text: str) -> str:
        """The next line of standard error that holds the text. Raises queue.Empty when none comes."""
        while text not in (line := self._error_lines.get(timeout=20)):
            pass
        return line

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        number = next(self._ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        self.send_line(json.dumps(message, separators=(",", ":")).encode())
        return number

    def receive(self, timeout: float = 20) -> Any:
        """The next message. Raises queue.Empty after `timeout` seconds, ValueError when stdout is not pure JSON."""
        return json.loads(self._lines.get(timeout=timeout))

    def silent_for(self, seconds: float) -> bool:
        try:
            self._lines.put(self._lines.get(timeout=seconds))
        except queue.Empty:
            return True
        return False

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        number = self.send(method, params)
        message = self.receive()
        assert message["id"] == number
        return message

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool call."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})["result"]

    def initialize(self, revision: str) -> Any:
        answer = self.request(
            "initialize",
            {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
        )
        self.send_line(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer["result"]

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def wait(self, timeout: float = 10) -> int:
        return self.process.wait(timeout)

    def errors(self) -> str:
        """Standard error, complete once the process has ended."""
        self.wait()
        for thread in self._threads:
            thread.join(5)
        return b"".join(self._errors).decode()


Starter = Callable[..., RawClient]


@contextmanager
def starting() -> Iterator[Starter]:
    clients: list[RawClient] = []

    def starter(
        *arguments: str, edge: bool = False, cwd: Path | None = None, revision: str = "2025-11-25"
    ) -> RawClient:
        serve = [str(EDGE_SERVER)] if edge else ["-m", "grpo_guard", "serve", *arguments]
        client = RawClient([sys.executable, *serve], cwd)
        clients.append(client)
        client.greeting = client.initialize(revision) if revision else {}
        return client

    try:
        yield starter
    finally:
        for client in clients:
            client.process.kill()
            client.wait()


@pytest.fixture
def start() -> Iterator[Starter]:
    """Start a server: `start("--root", "x")` the real one, `start(edge=True)` the one with misbehaving tools."""
    with starting() as starter:
        yield starter


@pytest.fixture(scope="module")
def edge() -> Iterator[RawClient]:
    """One server with misbehaving tools that all tests of a file share: none of them may harm the next."""
    with starting() as starter:
        yield starter(edge=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
