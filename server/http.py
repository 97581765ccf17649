"""Streamable HTTP: the SDK's stateless transport behind a guard that checks every request before it is read.

Nothing is kept between requests, so any number of processes can serve `app_from_environment`.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import anyio

from . import limits
from .configs.values import InputError
from .roots import Roots

TOKEN, TOKEN_FILE, HOST, ALLOWED_HOSTS = (
    "GRPO_GUARD_TOKEN",
    "GRPO_GUARD_TOKEN_FILE",
    "GRPO_GUARD_HTTP_HOST",
    "GRPO_GUARD_ALLOWED_HOSTS",
)
PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::", "")
_SHORTEST_TOKEN = 16

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def app_from_environment(environ: Mapping[str, str] | None = None) -> Application:
    """The ASGI application, configured by environment variables alone, for any server and number of processes.

    GRPO_GUARD_ROOTS, GRPO_GUARD_TOKEN or GRPO_GUARD_TOKEN_FILE, GRPO_GUARD_HTTP_HOST (the address that the server
    listens on, default 127.0.0.1), GRPO_GUARD_ALLOWED_HOSTS (names that clients use, separated by commas).
    Raises InputError as `build_app` does.
    """
    environ = os.environ if environ is None else environ
    names = [name.strip() for name in environ.get(ALLOWED_HOSTS, "").split(",") if name.strip()]
    return build_app(Roots.choose(environ=environ), environ.get(HOST, LOOPBACK[0]), read_token(environ), names)


def read_token(environ: Mapping[str, str], file: Path | None = None) -> str:
    """The token that clients must send, "" for none: from `file`, else from the environment.

    Raises InputError for a token that is empty, short, or cannot stand in a header.
    """
    from .configs.files import read_text

    place = file or (Path(environ[TOKEN_FILE]) if environ.get(TOKEN_FILE) else None)
    if place is None and TOKEN not in environ:
        return ""
    token = (read_text(place) if place else environ[TOKEN]).strip()
    source = f"token file {place}" if place else TOKEN
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"{source}: write {_SHORTEST_TOKEN} or more letters and digits, e.g. of `openssl rand -hex 32`"
        )
    return token


def build_app(roots: Roots, host: str, token: str = "", allowed_hosts: Sequence[str] = ()) -> Application:
    """The ASGI application for a server that listens on `host`.

    allowed_hosts: further names by which clients may call it. Raises InputError for an address that others can reach
    without a token: whoever reaches the server reads the files inside its roots.
    """
    if host not in LOOPBACK and not token:
        raise InputError(
            f"--host {host}: other machines can reach it, so a token is needed: set {TOKEN} or give --token-file FILE"
        )
    from mcp.server.transport_security import TransportSecuritySettings

    from .app import build_server

    names = _names(host, allowed_hosts)
    security = TransportSecuritySettings(
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{form}" for scheme in ("http", "https") for name in names for form in (name, f"{name}:*")
        ],
    )
    app = build_server(roots).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=limits.MAX_BODY_BYTES,
        transport_security=security,
    )
    return Guard(app, token)


def _names(host: str, more: Sequence[str]) -> list[str]:
    """What may stand in a Host header: a page in a browser that was led here by a foreign name sends that name."""
    own = [*LOOPBACK, socket.gethostname()] if host in _ANY else LOOPBACK if host in LOOPBACK else [host]
    return list(dict.fromkeys(f"[{name}]" if ":" in name else name for name in [*own, *more]))


class Guard:
    """Refuses what has no token, another method or too long a body, and ends calls whose client has left."""

    def __init__(self, app: Application, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode() if token else b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (refusal := self._refusal(scope)) is not None:
            await _answer(send, *refusal)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        with anyio.move_on_after(limits.HTTP_SECONDS) as time:
            await self._pass_on(scope, receive, watched, time)
        if time.cancelled_caught and not started:
            await _answer(send, 408, f"not done within {limits.HTTP_SECONDS:g} s")

    def _refusal(self, scope: Scope) -> tuple[int, str, tuple[bytes, bytes]] | None:
        if self._expected and not hmac.compare_digest(_header(scope, b"authorization"), self._expected):
            return 401, "send the server's token as `Authorization: Bearer TOKEN`", (b"www-authenticate", b"Bearer")
        if scope["path"].rstrip("/") == PATH and scope["method"] != "POST":
            # Nothing is kept between requests, so there is no stream to open and no session to end.
            return 405, "this server answers POST only", (b"allow", b"POST")
        return None

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, time: anyio.CancelScope) -> None:
        body = await _body(receive)
        if body is None:
            await _answer(send, 413, f"longer than {limits.MAX_BODY_BYTES:,} bytes: name a file instead")
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            if not messages:
                await anyio.sleep_forever()
            return messages.pop()

        async def end_with_client() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            time.cancel()

        # A plain task: a task group costs a tenth of a short call.
        watch = asyncio.create_task(end_with_client())
        try:
            await self._app(scope, replay, send)
        finally:
            watch.cancel()


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None when it is longer than the cap; then the rest is not read."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limits.MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


async def _answer(send: Send, status: int, line: str, *headers: tuple[bytes, bytes]) -> None:
    body = f"{line}\n".encode()
    lengths = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*lengths, *headers]})
    await send({"type": "http.response.body", "body": body})


def run_http(app: Application, host: str, port: int) -> NoReturn:
    """Serve until SIGINT or SIGTERM, let open calls end for a moment, and end the process with code 0.

    port: 0 takes a free one; the line on standard error names it. Raises InputError when the address cannot be had.
    """
    import uvicorn

    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=limits.MAX_CONNECTIONS,
        timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=limits.STOP_SECONDS,
    )
    told_to_stop = False

    def remember(*_: object) -> None:
        nonlocal told_to_stop
        told_to_stop = True

    class Announced(uvicorn.Server):
        """Says when it answers, and heeds a signal that came before it listened to signals."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            self.should_exit = self.should_exit or told_to_stop
            print(f"grpo-guard serves MCP on {_url(host, listening)}; Ctrl-C ends it", file=sys.stderr, flush=True)

    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn puts its own handlers in place, and raises the signal again once it has stopped.
        signal.signal(number, remember)
    Announced(config).run(sockets=[listening])
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(0)  # a call that was cut off may still run on its thread


def _url(host: str, listening: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}{PATH}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's algorithm off; without it each answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(limits.MAX_CONNECTIONS)
    except (OSError, OverflowError) as error:
        listening.close()
        cause = getattr(error, "strerror", None) or "no such port"
        raise InputError(f"cannot listen on {host} port {port} ({cause}): give another --host or --port") from None
    return listening
