"""Streamable HTTP over a real process: who is answered, in which protocol revisions, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS

from grpo_guard.app import TOOLS
from grpo_guard.configs.values import InputError
from grpo_guard.http import TOKEN, app_from_environment, build_app, read_token
from grpo_guard.roots import Roots

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]

EDGE_SERVER = Path(__file__).with_name("edge_server.py")
SCRIPT = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n"
SECRET = "0123456789abcdef-token"
ACCEPTED = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class HttpServer:
    """One process; `url` once it says that it serves."""

    def __init__(self, command: list[str], **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        assert self.process.stderr
        self.first_line = self.process.stderr.readline()
        found = re.search(r"http://\S+/mcp", self.first_line)
        self.url = found[0] if found else ""

    def post(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.post_bytes(json.dumps(message).encode(), **headers)

    def post_bytes(self, body: bytes, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.post(self.url, content=body, headers=ACCEPTED | named, timeout=20)

    def wait_for(self, text: str) -> None:
        assert self.process.stderr
        while text not in (line := self.process.stderr.readline()):
            assert line, f"the server ended before it said {text!r}"


@contextmanager
def serving(*command: str, **environment: str) -> Iterator[HttpServer]:
    server = HttpServer(list(command), **environment)
    try:
        assert server.url, server.first_line
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def serve(*options: str) -> tuple[str, ...]:
    return ("-m", "grpo_guard", "serve", "--http", "--port", "0", *options)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("root")
    (folder / "run.sh").write_text(SCRIPT)
    with serving(*serve("--root", str(folder))) as running:
        yield running


@pytest.fixture(scope="module")
def edge() -> Iterator[HttpServer]:
    with serving(str(EDGE_SERVER), "--http") as running:
        yield running


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_the_sdk_client_validates_a_file(server, mode):
    async with Client(server.url, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
        result = await client.call_tool("validate_config", {"path": "run.sh"})
        (content,) = (await client.read_resource("bug://verl-6782")).contents
    assert "one-sample-groups" in [finding["rule"] for finding in result.structured_content["findings"]]
    assert json.loads(content.text)["bug"] == "verl-6782"


def test_the_sdk_speaks_five_revisions():
    assert len(KNOWN_PROTOCOL_VERSIONS) == 5


@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
def test_each_revision_with_a_handshake_is_spoken(server, revision):
    hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    answer = server.post("initialize", hello).json()
    assert answer["result"]["protocolVersion"] == revision
    call = {"name": "match_skill", "arguments": {"query": "GRPO NaN"}}
    response = server.post("tools/call", call, mcp_protocol_version=revision)
    assert response.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in response.headers
    assert response.json()["result"]["structuredContent"]["skills"][0]["name"] == "grpo-debug"


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content_type": "text/plain"}, 400),
        ({"mcp_protocol_version": "1999-01-01"}, 400),
    ],
)
def test_what_a_browser_was_led_to_send_is_refused(server, headers, status):
    assert server.post("tools/list", **headers).status_code == status


def test_a_page_of_this_machine_may_ask(server):
    assert server.post("tools/list", origin="http://localhost:3000").status_code == 200


def test_a_body_over_the_cap_is_refused_and_the_next_request_works(server):
    response = server.post_bytes(b"x" * 5_000_000)
    assert (response.status_code, response.text) == (413, "longer than 4,194,304 bytes: name a file instead\n")
    assert server.post("ping").json()["result"] == {}


def test_malformed_json_is_a_parse_error(server):
    response = server.post_bytes(b"{bad")
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_other_methods_have_nothing_to_do(server, method):
    response = httpx.request(method, server.url, headers=ACCEPTED)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


def test_another_path_is_not_found(server):
    assert httpx.post(server.url.replace("/mcp", "/other"), headers=ACCEPTED, content="{}").status_code == 404


# The token ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["environment", "file"])
async def test_with_a_token_only_its_bearer_is_answered(tmp_path, source):
    file = tmp_path / "token"
    file.write_text(SECRET + "\n")
    options = ["--host", "0.0.0.0", *(["--token-file", str(file)] if source == "file" else [])]
    environment = {TOKEN: SECRET} if source == "environment" else {}
    with serving(*serve(*options), **environment) as running:
        assert SECRET not in running.first_line
        running.url = running.url.replace("0.0.0.0", "127.0.0.1")
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": SECRET}):
            refused = running.post("tools/list", **headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert running.post("tools/list", authorization=f"Bearer {SECRET}").status_code == 200
        assert running.post("tools/list", authorization=f"Bearer {SECRET}", host="evil.example").status_code == 421
        with_token = httpx.AsyncClient(headers={"authorization": f"Bearer {SECRET}"})
        async with with_token, Client(streamable_http_client(running.url, http_client=with_token)) as client:
            assert len((await client.list_tools()).tools) == len(TOOLS)


def refusal(*options: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "grpo_guard", "serve", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, **environment},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    return done.stderr


def test_an_address_that_others_reach_needs_a_token():
    line = refusal("--http", "--host", "0.0.0.0")
    assert line.startswith(
        f"grpo-guard: --host 0.0.0.0: other machines can reach it, so a token is needed: set {TOKEN}"
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "gpu01", ""])
def test_every_address_but_loopback_needs_a_token(tmp_path, host):
    with pytest.raises(InputError, match="a token is needed"):
        build_app(Roots.choose([str(tmp_path)]), host)


@pytest.mark.parametrize("token", ["", "hunter2", "two words are no token", "žluťoučký-kůň-úpěl"])
def test_a_weak_token_is_refused_and_not_shown(token):
    with pytest.raises(InputError, match="16 or more letters and digits") as refused:
        read_token({TOKEN: token})
    assert not token or token not in str(refused.value)


def test_a_port_that_is_taken_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = refusal("--http", "--port", str(taken.getsockname()[1]))
    assert "cannot listen on 127.0.0.1 port" in line and "give another --host or --port" in line


def test_http_options_without_http_are_refused():
    assert "add it" in refusal("--host", "0.0.0.0")


def test_the_application_is_made_from_the_environment_alone(tmp_path):
    assert callable(app_from_environment({"GRPO_GUARD_ROOTS": str(tmp_path)}))
    with pytest.raises(InputError, match="a token is needed"):
        app_from_environment({"GRPO_GUARD_ROOTS": str(tmp_path), "GRPO_GUARD_HTTP_HOST": "0.0.0.0"})


# Calls that take long, and the end ------------------------------------------------------------------------------------


def call(name: str) -> dict[str, Any]:
    return {"name": name, "arguments": {}}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_client_that_leaves_frees_its_call(edge, revision):
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = call("lasting") | ({"_meta": meta} if revision > "2026" else {})
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    modern = "Mcp-Method: tools/call\r\nMcp-Name: lasting\r\n" if revision > "2026" else ""
    host, port = re.search(r"//([\d.]+):(\d+)/", edge.url).groups()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {revision}\r\n{modern}"
        f"Content-Length: {len(message)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + message)
        edge.wait_for("lasting begins")
    edge.wait_for("lasting was left")


def test_a_call_ends_at_its_deadline(edge):
    result = edge.post("tools/call", call("endless")).json()["result"]
    assert result["content"][0]["text"] == "stopped after 1.5 s: pass one smaller file"


def test_a_body_that_never_ends_is_given_up(edge):
    host, port = re.search(r"//([\d.]+):(\d+)/", edge.url).groups()
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            "Content-Length: 1000\r\n\r\n{".encode()
        )
        connection.settimeout(20)
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_lone_surrogates_and_prints_do_no_harm(edge):
    result = edge.post("tools/call", call("surrogate")).json()["result"]
    assert result["structuredContent"] == {"bad?key": "bad?end"}
    assert edge.post("tools/call", call("noisy")).json()["result"]["isError"] is False


@pytest.mark.parametrize(
    "number, busy", [(signal.SIGINT, False), (signal.SIGTERM, True)], ids=["SIGINT, idle", "SIGTERM, in a call"]
)
def test_a_signal_ends_the_server_with_code_0(number, busy):
    with serving(str(EDGE_SERVER), "--http") as running:
        if busy:
            threading.Thread(target=ignore_failure, args=(running,), daemon=True).start()
            running.wait_for("lasting begins")
        running.process.send_signal(number)
        assert running.process.wait(10) == 0
        assert running.process.stdout.read() == ""


def ignore_failure(running: HttpServer) -> None:
    """A call whose server goes away."""
    with suppress(httpx.HTTPError):
        running.post("tools/call", call("lasting"))
