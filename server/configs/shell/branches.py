"""Conditions that cannot be decided, and branches that were entered on a guess."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..values import Command
from .state import FAILED, LimitReached, ShellFlow, State, Status

if TYPE_CHECKING:
    from .evaluator import Interpreter

Run = Callable[[], object]


class Branches:
    """Runs one alternative for good and the others on copies of the state.

    With `seek_launch` the alternative that holds a launch is the one that counts: a script is checked for its launch.
    """

    def __init__(self, shell: Interpreter, seek_launch: bool) -> None:
        self.shell = shell
        self.seek_launch = seek_launch
        # Per running loop or function: the states in which untaken alternatives left it (`break`, `return`).
        self._left: list[list[tuple[State, tuple[str, ...]]]] = []

    def guessed(self, status: Status, line: int, run: Callable[[], Status]) -> Status:
        """Run a branch chosen by a guess. An `exit` in it, without a launch before, means that the guess was wrong."""
        if not status.guessed and not self.seek_launch:
            return run()
        shell = self.shell
        before, commands = shell.state.fork(), shell.state.commands
        count = len(commands)
        try:
            return run()
        except ShellFlow as flow:
            if flow.kind != "exit" or _launched(commands[count:]):
                raise
            for name in status.absent:
                if name[0] != "$":
                    shell.report.required(name, "without it the script exits", shell.file, line)
            self._adopt(before, commands)
            return FAILED

    def choose(self, status: Status, taken: Run, others: Sequence[Run], line: int) -> Status:
        """Run `taken`; try `others` on copies, and make unknown what they would leave different."""
        shell = self.shell
        shell.report.decisions += 1
        outer = shell.state
        ends: list[State] = []
        for other in others:
            shell.replace_state(outer.fork())
            try:
                end = self._tried(other, status)
            except (LimitReached, RecursionError):
                shell.replace_state(outer)  # what was recorded before stays
                raise
            if self.seek_launch and _launched(shell.state.commands):
                outer.commands += shell.state.commands
                self._adopt(shell.state, outer.commands)
                return Status(None, status.names)
            if end is not None:
                ends.append(end)
        shell.replace_state(outer)
        before, count = outer.fork(), len(outer.commands)
        try:
            taken()
        except ShellFlow as flow:
            if flow.kind != "exit" or _launched(outer.commands[count:]):
                raise
            self._adopt(ends.pop(0) if ends else before, outer.commands)
        shell.state.merge(ends, status.names, line, shell.file)
        shell.variables.changed()
        return Status(None, status.names)

    def _tried(self, run: Run, status: Status) -> State | None:
        """The state at the end of an alternative; None when it leaves by `exit`, `return` or `break`."""
        saved = self.shell.report.snapshot()
        try:
            run()
        except ShellFlow as flow:
            if flow.kind != "exit" and self._left:
                self._left[-1].append((self.shell.state, status.names))
            return None
        finally:
            if not (self.seek_launch and _launched(self.shell.state.commands)):
                self.shell.report.restore(saved)
        return self.shell.state

    def _adopt(self, state: State, commands: list[Command]) -> None:
        """Go on with another state; what has been recorded stays."""
        state.commands = commands
        self.shell.replace_state(state)

    @contextmanager
    def scope(self, line: int) -> Iterator[list[tuple[str, ...]]]:
        """A loop or function body. Alternatives that left it early are merged at its end; yields their names."""
        names: list[tuple[str, ...]] = []
        self._left.append([])
        try:
            yield names
        finally:
            waiting = self._left.pop()
            for state, decided_by in waiting:
                self.shell.state.merge([state], decided_by, line, self.shell.file)
                names.append(decided_by)
            if waiting:
                self.shell.variables.changed()


def _launched(commands: Sequence[Command]) -> bool:
    return any(command.launch for command in commands)
