"""A test that hangs ends the run with a traceback; none asserts how long something takes."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import pytest

HANGS_AFTER_SECONDS = 300


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    faulthandler.dump_traceback_later(HANGS_AFTER_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
