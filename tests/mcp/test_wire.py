"""The wire between client and server, over a real process: nothing kills it, nothing is left without an answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from grpo_guard.limits import MAX_PARALLEL_CALLS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and descriptors")

CANCEL = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}'
MALFORMED = {
    "broken JSON": (b"{bad", -32700, None),
    "a lone surrogate escape": (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\\ud800"}}', -32700, None),
    "deep nesting": (b"[" * 5_000, -32700, None),
    "a byte order mark": (b"\xef\xbb\xbf{}", -32700, None),
    "a batch": (b'[{"jsonrpc":"2.0","id":9,"method":"ping"}]', -32600, None),
    "no JSON-RPC": (b"{}", -32600, None),
    "a method that is no text": (b'{"jsonrpc":"2.0","id":9,"method":5}', -32600, 9),
    "id zero": (b'{"jsonrpc":"2.0","id":0,"method":5}', -32600, 0),
}


@pytest.mark.parametrize("line, code, sender", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_line_is_answered_and_the_next_request_works(edge, line, code, sender):
    edge.send_line(line)
    answer = edge.receive()
    assert (answer["id"], answer["error"]["code"]) == (sender, code)
    assert edge.request("ping")["result"] == {}


def test_an_empty_line_asks_for_nothing(edge):
    edge.send_line(b"")
    edge.send_line(b"  ")
    assert edge.request("ping")["result"] == {}


def test_invalid_utf8_is_replaced(edge):
    edge.send_line(b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\xff\xfe"}}')
    assert edge.receive() == {"jsonrpc": "2.0", "id": 9, "result": {}}


@pytest.mark.parametrize(
    "template",
    [
        b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"%s"}}',
        b'{"method":"ping","params":{"x":"%s"},"jsonrpc":"2.0","id":9}',
    ],
    ids=["id first", "id last"],
)
def test_a_message_over_the_cap_is_refused_by_its_id(edge, template):
    edge.send_line(template % (b"x" * 20_000_000))
    answer = edge.receive()
    assert answer["id"] == 9
    assert answer["error"]["message"] == "message longer than 8,000,000 bytes: name a file instead"
    assert edge.request("ping")["result"] == {}


def test_lone_surrogates_are_replaced_on_the_way_out(edge):
    result = edge.call("surrogate")
    assert result["content"] == [{"type": "text", "text": "bad?end"}]
    assert result["structuredContent"] == {"bad?key": "bad?end"}


def test_numbers_that_are_not_finite_are_words(edge):
    assert edge.call("not_finite")["structuredContent"] == {"values": ["nan", "inf", "-inf", 1.5]}


def test_what_a_tool_prints_goes_to_stderr(start):
    client = start(edge=True)
    assert client.call("noisy")["content"][0]["text"] == "quiet"
    client.close_input()
    assert "a raw write in a tool\n" in client.errors()


NOISE = """
import os, sys

class Noise:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp":
            print("a print at import")
            os.write(1, b"a raw write at import\\n")

sys.meta_path.insert(0, Noise())
"""


def test_what_a_library_prints_at_import_goes_to_stderr(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(NOISE)
    request = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(
        [sys.executable, "-m", "grpo_guard", "serve"],
        input=request,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert done.stderr.count(b"at import") == 2


def test_a_crash_is_one_line_without_details_and_the_traceback_goes_to_stderr(start):
    client = start(edge=True)
    result = client.call("crash")
    assert result["isError"] is True
    assert result["content"][0]["text"] == (
        "crash failed on this input; the server's log has the traceback: please report it"
    )
    client.close_input()
    assert "ZeroDivisionError: secret detail" in client.errors()


def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(edge):
    error = edge.request("tools/call", {"name": "nan", "arguments": {}})["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("unknown tool 'nan': there are surrogate, not_finite")


def test_ping_answers_while_a_call_runs(edge):
    slow = edge.send("tools/call", {"name": "brief_nap", "arguments": {}})
    ping = edge.send("ping")
    assert [edge.receive()["id"], edge.receive()["id"]] == [ping, slow]


def test_a_call_ends_at_its_deadline(edge):
    result = edge.call("endless")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "stopped after 1.5 s: pass one smaller file"
    assert edge.request("ping")["result"] == {}


def test_a_call_that_looks_at_the_clock_answers_with_what_it_has(edge):
    result = edge.call("patient")
    assert result["isError"] is False
    assert result["content"][0]["text"] == "as far as it went"


def test_cancelled_calls_free_their_places(start):
    """As many calls as there are workers, cancelled: the next one is answered, and none goes on working."""
    client = start(edge=True)
    for _ in range(MAX_PARALLEL_CALLS):
        number = client.send("tools/call", {"name": "patient", "arguments": {}})
        client.wait_for_error_line("patient begins")
        client.send_line(CANCEL % number)
        client.wait_for_error_line("patient leaves")
    assert client.call("surrogate")["isError"] is False
    client.close_input()
    assert client.errors().count("patient leaves") == MAX_PARALLEL_CALLS


def test_a_cancelled_call_gives_no_answer_and_does_not_hold_the_exit(start):
    client = start(edge=True)
    slow = client.send("tools/call", {"name": "endless", "arguments": {}})
    client.send_line(CANCEL % slow)
    assert client.request("ping")["result"] == {}
    client.close_input()
    assert client.wait() == 0


def test_end_of_input_answers_what_is_open_and_exits_0(start):
    client = start(edge=True)
    number = client.send("tools/call", {"name": "brief_nap", "arguments": {}})
    client.close_input()
    assert client.receive()["id"] == number
    assert client.wait() == 0
    assert client.errors() == ""


def test_end_of_input_before_any_request_exits_0(start):
    client = start(edge=True)
    client.close_input()
    assert client.wait() == 0
    assert client.errors() == ""


@pytest.mark.parametrize("closed", ["<&-", ">&-"], ids=["input", "output"])
def test_a_closed_stream_is_one_line(closed):
    command = f"exec {sys.executable} -m grpo_guard serve {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "grpo-guard: standard input or output is closed: an MCP client must start this command with pipes\n"
    )


def test_without_standard_error_it_serves_all_the_same():
    command = f"exec {sys.executable} -m grpo_guard serve 2>&-"
    request = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(["sh", "-c", command], input=request, stdout=subprocess.PIPE, timeout=30, check=False)
    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, {})


def test_a_root_that_is_no_folder_is_one_line(tmp_path):
    command = [sys.executable, "-m", "grpo_guard", "serve", "--root", str(tmp_path / "absent")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert done.stderr == f"grpo-guard: root {tmp_path / 'absent'}: not a folder: name an existing one\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in a call"])
def test_a_signal_ends_the_server_at_once(start, number, busy):
    client = start(edge=True)
    if busy:
        client.send("tools/call", {"name": "endless", "arguments": {}})
        client.request("ping")
    client.process.send_signal(number)
    assert client.wait() == -number
    assert client.errors() == ""


# Protocol revisions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
def test_each_revision_with_a_handshake_is_spoken(start, revision):
    client = start(revision=revision)
    assert client.greeting["protocolVersion"] == revision
    assert client.call("match_skill", query="GRPO NaN")["structuredContent"]["skills"][0]["name"] == "grpo-debug"


@pytest.mark.parametrize("revision", ["2026-07-28", "1999-01-01"])
def test_a_handshake_of_another_revision_gets_the_newest_that_has_one(start, revision):
    assert start(revision=revision).greeting["protocolVersion"] == "2025-11-25"


def test_the_revision_without_a_handshake_is_spoken(start):
    client = start(revision="")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    found = client.request("server/discover", {"_meta": meta})["result"]
    assert "2026-07-28" in found["supportedVersions"]
    params = {"name": "match_skill", "arguments": {"query": "GRPO NaN"}, "_meta": meta}
    result = client.request("tools/call", params)["result"]
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["skills"][0]["name"] == "grpo-debug"
