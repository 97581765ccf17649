"""verl's console logger: `step:5 - actor/grad_norm:0.12 - critic/score/mean:0.5`, also behind a progress bar."""

from __future__ import annotations

import re

from ..numbers import leading_number
from ..table import Table

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
        values: dict[str, float] = {}
        for part in text[head.end() :].split(" - "):
            name, _, written = part.rpartition(":")
            if name and " " not in name and (value := leading_number(written)) is not None:
                values[name] = value
        if values:
            table.add(float(head[1]), line, values)
        return True
