"""What the readers of console lines have in common."""

from __future__ import annotations

from typing import Protocol

from ..table import Table


class ConsoleReader(Protocol):
    """Looks at lines of a console. `marks`: texts of which one stands in every piece that it could want to read."""

    name: str
    framework: str
    marks: tuple[str, ...]

    @property
    def waiting(self) -> bool:
        """Whether it is inside something that goes on over several lines, and wants to see each of them."""

    def take(self, text: str, line: int, table: Table) -> bool:
        """Read one line without prefixes; true when it was this reader's."""
