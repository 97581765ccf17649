"""verl's console logger: `step:5 - actor/grad_norm:0.12 - critic/score/mean:0.5`, also behind a progress bar."""

from __future__ import annotations

import re

from ..numbers import NUMBER, WRAPPED
from ..table import Table

_PAIR = re.compile(rf" - ([^\s:]{{1,200}}):{WRAPPED}({NUMBER})(?=\)|,| - |\s*$)")
_HEAD = re.compile(r"(?:^|[^\w/])step:(\d+) - (?=[\w@-]+[/\w@.-]*:)")


class VerlConsole:
    name = "verl console"
    framework = "verl"
    marks: tuple[str, ...] = ("step:",)
    waiting = False

    def take(self, text: str, line: int, table: Table) -> bool:
        head = _HEAD.search(text)
        if head is None:
            return False
        values = {name: float(written) for name, written in _PAIR.findall(text, head.end() - len(" - "))}
        if values:
            table.add(float(head[1]), line, values)
        return True
