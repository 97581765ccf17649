"""`grpo-guard serve`: from options to a running server, importing the MCP SDK as late and as cheaply as it goes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

from .roots import Roots


def serve_stdio(root_options: Sequence[str] = ()) -> NoReturn:
    """Answer on standard input and output until the input ends, then end the process.

    root_options: the `--root` folders; none means the environment variable, else the working directory.
    Raises InputError before anything is answered when one of them is no folder.
    """
    roots = Roots.choose(root_options)
    with _stdout_kept_clean():
        server = _built(roots)
    from .transport import run_stdio

    run_stdio(server)


def _built(roots: Roots) -> Any:
    with _collector_at_rest():
        from . import transport  # noqa: F401  (imported here, while the collector rests)
        from .app import build_server
    return build_server(roots)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    # The SDK builds hundreds of classes at import, and none of them is garbage: without the collector's passes over
    # them the tool list is there about 8 % sooner (benchmarks/cold_start.py); frozen, later passes skip them too.
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def _stdout_kept_clean() -> Iterator[None]:
    """What a library prints while it is imported goes to standard error: only messages belong on standard output."""
    try:
        kept, errors = os.dup(1), os.dup(2)
    except OSError:  # one of them is closed; the transport says so
        yield
        return
    try:
        os.dup2(errors, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(errors)


def serve_http(
    root_options: Sequence[str] = (),
    host: str = "127.0.0.1",
    port: int = 8930,
    token_file: Path | None = None,
    allowed_hosts: Sequence[str] = (),
) -> NoReturn:
    """Answer HTTP requests on http://HOST:PORT/mcp until the process is told to end.

    Raises InputError before anything is answered: a root that is no folder, an address that others can reach without
    a token, a port that is taken.
    """
    with _collector_at_rest():
        import uvicorn  # noqa: F401  (imported here, while the collector rests)

        from . import app as _  # noqa: F401
        from .http import build_app, read_token, run_http
    app = build_app(Roots.choose(root_options), host, read_token(os.environ, token_file), allowed_hosts)
    run_http(app, host, port)
