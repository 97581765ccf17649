"""The real server and transport with tools that do what tools should not. Started as a process by test_wire.py."""

from __future__ import annotations

import os
import time
from typing import Any

from grpo_guard import app, limits
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
    time.sleep(1)
    return Answer({}, "slept")


def endless() -> Answer:
    time.sleep(60)
    return Answer({}, "slept")


def crash() -> Answer:
    raise ZeroDivisionError("secret detail")


def tool(work: Any) -> Tool:
    return Tool(work.__name__, work.__name__, "", Arguments, lambda _, __: work(), {})


if __name__ == "__main__":
    limits.REQUEST_SECONDS = 3
    app.TOOLS = tuple(tool(work) for work in (surrogate, not_finite, noisy, brief_nap, endless, crash))
    run_stdio(app.build_server(Roots.choose()))
