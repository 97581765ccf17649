"""The stdio transport: the SDK's own, made to answer what it would drop and to end when it is told to."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import AsyncIterable
from typing import Any, BinaryIO, NoReturn, Protocol

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from . import limits
from .configs.values import InputError

Message = SessionMessage | Exception
CUT = "\0"  # marks a line of which only the ends were kept; no JSON text can begin with it
KEPT_BYTES = 200
ID_FIRST = r'"jsonrpc":\s*"2\.0",\s*"id":\s*(?:(\d+)|"([^"\\]*)")'


class Outgoing(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


def run_stdio(server: Server[Any]) -> NoReturn:
    """Serve until standard input ends, then end the process with code 0.

    SIGINT and SIGTERM end it at once: nothing needs to be saved. Raises InputError when a stream is closed.
    """
    if sys.stdin is None or sys.stdout is None:
        raise InputError("standard input or output is closed: an MCP client must start this command with pipes")
    if sys.stdin.isatty():
        print("grpo-guard serves MCP on standard input and output; Ctrl-C ends it", file=sys.stderr)
    for number in (signal.SIGINT, signal.SIGTERM):
        # Python's own SIGINT handler would wait for the thread that reads standard input, which waits for a line.
        signal.signal(number, signal.SIG_DFL)
    try:
        anyio.run(_serve, server)
    except* BrokenPipeError:  # the client left first
        pass
    if sys.stderr is not None:
        sys.stderr.flush()
    # A call that was cut off at its deadline may still run on its thread; its answer has no reader.
    os._exit(0)


async def _serve(server: Server[Any]) -> None:
    lines: Any = anyio.wrap_file(BoundedLines(sys.stdin.buffer))  # type: ignore[arg-type]  # only readline is used
    async with stdio_server(stdin=lines) as (incoming, outgoing), anyio.create_task_group() as tasks:
        exchange = Exchange(incoming, outgoing)
        tasks.start_soon(exchange.pass_in)
        tasks.start_soon(exchange.pass_out)
        await server.run(exchange.to_server, exchange.from_server, server.create_initialization_options())


class Exchange:
    """Stands between the SDK's stdio streams and its server, and knows which requests are still open.

    The SDK drops a line that is no message while its sender waits, and at the end of the input it cancels calls that
    were piped in just before. Here the first is answered with an error, and the second get their answers.
    """

    def __init__(self, incoming: AsyncIterable[Message], outgoing: Outgoing) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._into, self.to_server = anyio.create_memory_object_stream[Message]()
        self.from_server, self._out_of = anyio.create_memory_object_stream[SessionMessage]()
        self._open: set[types.RequestId] = set()
        self._answered = anyio.Event()

    async def pass_in(self) -> None:
        """Hand on what arrives; at the end of the input wait for the answers that are still due."""
        async with self._into:
            async for item in self._incoming:
                if isinstance(item, SessionMessage):
                    self._note_arrival(item.message)
                    await self._into.send(item)
                elif (refusal := refuse(item)) is not None:
                    await self._outgoing.send(SessionMessage(refusal))
            with anyio.move_on_after(limits.REQUEST_SECONDS):
                while self._open:
                    await self._answered.wait()

    async def pass_out(self) -> None:
        """Hand on what the server sends."""
        async for item in self._out_of:
            await self._outgoing.send(item)
            if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                self._settle(item.message.id)
        await self._outgoing.aclose()

    def _note_arrival(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._open.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # the SDK sends no answer to a cancelled request

    def _settle(self, request: object) -> None:
        if isinstance(request, str | int):
            self._open.discard(request)
        self._answered.set()
        self._answered = anyio.Event()


def refuse(error: Exception) -> types.JSONRPCError | None:
    """The JSON-RPC error for a line that could not be read; None for an empty line, which asks for nothing."""
    faults: list[Any] = list(error.errors(include_url=False)) if isinstance(error, ValidationError) else []
    line = faults[0]["input"] if faults else None
    if isinstance(line, str) and not line.strip():
        return None
    if isinstance(line, str) and line.startswith(CUT):
        most = f"{limits.MAX_MESSAGE_BYTES:,}"
        return _error(_id_in_cut(line), types.INVALID_REQUEST, f"message longer than {most} bytes: name a file instead")
    if faults and faults[0]["type"] == "json_invalid":
        return _error(None, types.PARSE_ERROR, "the line is not valid JSON")
    return _error(_id_among(faults), types.INVALID_REQUEST, "the line is not a JSON-RPC 2.0 message")


def _error(sender: types.RequestId | None, code: int, text: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=sender, error=types.ErrorData(code=code, message=text))


def _id_among(faults: list[Any]) -> types.RequestId | None:
    """The id, where the line was a JSON object that had one: its sender can then stop waiting."""
    for message in (fault["input"] for fault in faults):
        sender = message.get("id") if isinstance(message, dict) else None
        if isinstance(sender, str | int) and not isinstance(sender, bool):
            return sender
    return None


def _id_in_cut(line: str) -> types.RequestId | None:
    """The id, where the client writes it at the very start or end of a message, as the common ones do."""
    found = re.match(rf"{CUT}\{{\s*{ID_FIRST},", line) or re.search(rf",\s*{ID_FIRST}\s*\}}\s*$", line)
    return None if found is None else int(found[1]) if found[1] else found[2]


class BoundedLines:
    """Lines of a byte stream as text. Of a line over the cap only both ends are kept, never the whole."""

    def __init__(self, stream: BinaryIO, cap: int = limits.MAX_MESSAGE_BYTES) -> None:
        self._stream = stream
        self._cap = cap

    def readline(self) -> str:
        """The next line, "" at the end of the stream."""
        line = self._stream.readline(self._cap)
        if len(line) < self._cap or line.endswith(b"\n"):
            return line.decode("utf-8", "replace")
        head, tail = line[:KEPT_BYTES], line[-KEPT_BYTES:]
        while line and not line.endswith(b"\n"):
            line = self._stream.readline(self._cap)
            tail = (tail + line)[-KEPT_BYTES:]
        return CUT + (head + tail).decode("utf-8", "replace")
