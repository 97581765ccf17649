"""Fields between bars: Megatron (`iteration 10/ 100 | lm loss: 1.2E+00 |`), prime-rl (`Step 5 | 3.1s | Loss 0.1 |`)."""

from __future__ import annotations

import re

from ..numbers import NUMBER, WRAPPED
from ..table import Table

_HEAD = re.compile(r"(?:^|[\s\]])(iteration|step|epoch: *\d+ *\| *step)[ :=]{1,3} *(\d+)(?:/ *\d+)? *\|", re.IGNORECASE)
_NAME = r"^\s*([A-Za-z][\w ./()@-]*?)"
_FIELD = re.compile(rf"{_NAME}\s*[:=]\s*{WRAPPED}({NUMBER})\s*(%)?")
_BARE_FIELD = re.compile(rf"{_NAME}\s+({NUMBER})\s*(%)?")


class BarLines:
    name = "bar lines"
    framework = ""
    marks: tuple[str, ...] = ("iteration ", "Step ", "step ", "Step: ")
    waiting = False

    def take(self, text: str, line: int, table: Table) -> bool:
        head = _HEAD.search(text)
        if head is None:
            return False
        values = {}
        for part in text[head.end() :].split("|"):
            if found := _FIELD.match(part) or (":" not in part and _BARE_FIELD.match(part)):
                values[found[1].lower()] = float(found[2]) / (100 if found[3] else 1)
        if not values:
            return False
        if head[1].lower() == "iteration":
            self.framework = "megatron"
        table.add(float(head[2]), line, values)
        return True
