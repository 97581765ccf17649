"""`grpo-guard serve`: from options to a running server, importing the MCP SDK as late and as cheaply as it goes."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import NoReturn

from .roots import Roots


def serve_stdio(root_options: Sequence[str] = ()) -> NoReturn:
    """Answer on standard input and output until the input ends, then end the process.

    root_options: the `--root` folders; none means the environment variable, else the working directory.
    Raises InputError before anything is answered when one of them is no folder.
    """
    roots = Roots.choose(root_options)
    # The SDK builds hundreds of classes at import, and none of them is garbage: without the collector's passes over
    # them the tool list is there about 8 % sooner (benchmarks/cold_start.py); frozen, later passes skip them too.
    gc.disable()
    from .app import build_server
    from .transport import run_stdio

    gc.freeze()
    gc.enable()
    run_stdio(build_server(roots))
