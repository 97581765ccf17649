"""Two server processes behind one address: each request may go to either, because nothing is kept between them."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from mcp import Client

SCRIPT = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n"
HOP_BY_HOP = ("connection", "transfer-encoding", "content-length", "date", "server")
pytestmark = pytest.mark.anyio


class Balancer(ThreadingHTTPServer):
    """Sends each request to the next process; one that does not answer is left out, as nginx does."""

    def __init__(self, addresses: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Forward)
        self.addresses = addresses
        self.turn = itertools.count()
        self.asked: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class Forward(BaseHTTPRequestHandler):
    server: Balancer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        first = next(self.server.turn)
        for number in range(len(self.server.addresses)):
            address = self.server.addresses[(first + number) % len(self.server.addresses)]
            try:
                status, headers, answer = self._ask(address, body)
            except urllib.error.URLError:
                continue
            self.server.asked[address] += 1
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            return
        self.send_error(502)

    def _ask(self, address: str, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        request = urllib.request.Request(address, data=body, headers=headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.getheaders(), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, list(error.headers.items()), error.read()

    def log_message(self, *_: object) -> None:
        pass


def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "grpo_guard", "serve", "--http", "--port", "0", "--root", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    line = process.stderr.readline()  # "grpo-guard serves MCP on http://...; Ctrl-C ends it"
    return process, next(word.rstrip(";") for word in line.split() if word.startswith("http"))


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[list[tuple[subprocess.Popen[str], str]]]:
    (tmp_path / "run.sh").write_text(SCRIPT, encoding="utf-8")
    started = [start(tmp_path), start(tmp_path)]
    yield started
    for process, _ in started:
        process.kill()
        process.wait()


@pytest.fixture
def balancer(processes) -> Iterator[Balancer]:
    server = Balancer([address for _, address in processes])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_does_not_notice_that_there_are_two(balancer, mode):
    async with Client(balancer.url, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        answers = [await client.call_tool("validate_config", {"path": "run.sh"}) for _ in range(4)]
        assert "validate_config" in tools
        assert all(answer.structured_content == answers[0].structured_content for answer in answers)
        assert answers[0].structured_content["framework"] == "verl"
    assert len(balancer.asked) == 2 and min(balancer.asked.values()) >= 2


async def test_when_one_is_killed_the_other_answers(balancer, processes):
    async with Client(balancer.url) as client:
        before = await client.call_tool("symptoms", {"query": "loss is nan"})
        processes[0][0].kill()
        processes[0][0].wait()
        for _ in range(3):
            after = await client.call_tool("symptoms", {"query": "loss is nan"})
            assert after.structured_content == before.structured_content
