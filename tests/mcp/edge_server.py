"""The real server and transports with tools that do what tools should not. Started as a process by the tests."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from grpo_guard import app, deadline, limits
from grpo_guard.roots import Roots
from grpo_guard.tools.arguments import Arguments
from grpo_guard.tools.tool import Answer, Tool
from grpo_guard.transport import run_stdio


def surrogate() -> Answer:
    return Answer({"bad\ud800key": "bad\ud800end"}, "bad\ud800end")


def not_finite() -> Answer:
    return Answer({"values": [float("nan"), float("inf"), float("-inf"), 1.5]}, "numbers")


def noisy() -> Answer:
    print("a print in a tool")
    os.write(1, b"a raw write in a tool\n")
    return Answer({}, "quiet")


def brief_nap() -> Answer:
    time.sleep(0.5)
    return Answer({}, "slept")


def endless() -> Answer:
    time.sleep(60)
    return Answer({}, "slept")


def patient() -> Answer:
    """Works until it is told that nobody waits, or the time is over."""
    print("patient begins", file=sys.stderr, flush=True)
    while not deadline.passed():
        time.sleep(0.01)
    print("patient leaves", file=sys.stderr, flush=True)
    return Answer({}, "as far as it went")


def lasting() -> Answer:
    """Sees before its time is over whether its client has left."""
    print("lasting begins", file=sys.stderr, flush=True)
    start = time.monotonic()
    while not deadline.passed() and time.monotonic() - start < 10:
        time.sleep(0.01)
    early = time.monotonic() - start < limits.ANSWER_SECONDS
    print("lasting was left" if early else "lasting ends", file=sys.stderr, flush=True)
    return Answer({}, "done")


def crash() -> Answer:
    raise ZeroDivisionError("secret detail")


def tool(work: Any) -> Tool:
    return Tool(work.__name__, work.__name__, "", Arguments, lambda _, __: work(), {})


if __name__ == "__main__":
    limits.ANSWER_SECONDS, limits.REQUEST_SECONDS = 0.5, 1.5
    works = (surrogate, not_finite, noisy, brief_nap, endless, patient, lasting, crash)
    app.TOOLS = tuple(tool(work) for work in works)
    if "--http" in sys.argv:
        from grpo_guard import http

        limits.ANSWER_SECONDS, limits.HTTP_SECONDS = 1.2, 2
        http.run_http(http.build_app(Roots.choose(), "127.0.0.1"), "127.0.0.1", 0)
    run_stdio(app.build_server(Roots.choose()))
