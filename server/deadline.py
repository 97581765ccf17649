"""How long the current request may go on. Long loops ask, stop early, and say what they left out.

On the command line there is no deadline: `passed` is false throughout.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic


class Deadline:
    """The time that one request has, from its making on; `end` ends it at once, from any thread."""

    __slots__ = ("_seconds", "_start")

    def __init__(self, seconds: float) -> None:
        self._seconds, self._start = seconds, monotonic()

    def end(self) -> None:
        """Nobody waits for the answer any more."""
        self._seconds = 0.0

    def passed(self, share: float) -> bool:
        return monotonic() - self._start >= self._seconds * share


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(deadline: Deadline) -> Iterator[None]:
    """Work that is done here, on this thread or on one that takes over its context, has this deadline."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)


def passed(share: float = 1.0) -> bool:
    """Whether this share of the request's time is over: a step that others follow may take only a part of it."""
    deadline = _current.get()
    return deadline is not None and deadline.passed(share)
