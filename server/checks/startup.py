"""What the start-up checks of several frameworks share: conditions that must not hold, the first one that does wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..configs.run_config import RunConfig
from .outcome import PASS, Hit, Outcome, Unknown
from .verl_common import open_question

# fields that decide, whether the fault is there for their values, anchor, message, fix, edits
Clash = tuple[Sequence[str], Any, str, str, str, dict[str, Any]]


def first_clash(run: RunConfig, clashes: Sequence[Clash]) -> Outcome:
    """The first clash whose fields are known and whose test says so; unknown where a test could not be made.

    A field that this version of the framework lacks counts as null.
    """
    open_: set[str] = set()
    for names, test, anchor, message, fix, edits in clashes:
        there = [name for name in names if name not in run.absent or name in run.settings]
        if missing := open_question(run, *there):
            open_ |= missing.needs
        elif test(*(run.value(name) for name in names)):
            return Hit(anchor, message, fix, dict(edits))
    return Unknown(frozenset(open_)) if open_ else PASS
