"""Pasted scraps: `actor/grad_norm:nan`, `loss = 0.0`, `rollout 2   spec_accept_length: 1.0`. For short texts only."""

from __future__ import annotations

import re

from .. import metrics
from ..numbers import NUMBER, WRAPPED
from ..table import Table

_NAME = r"[A-Za-z_][\w/@.-]*(?:[ _]norm|[ _]scale)?"
_PAIR = re.compile(rf"(?:^|(?<=[\s,;|({{\[`'\"]))({_NAME})['\"]?\s*[:=]\s*['\"]?{WRAPPED}({NUMBER})(?![\w.])")
_STEP = re.compile(r"(?:^|\W)(?:global[ _])?(?:step|iteration|iter|rollout)[ :=#]{1,3}(\d+)\b", re.IGNORECASE)


class LooseLines:
    name = "scraps"
    framework = ""
    marks: tuple[str, ...] = (":", "=")
    waiting = False

    def take(self, text: str, line: int, table: Table) -> bool:
        values = {name: float(value) for name, value in _PAIR.findall(text) if metrics.canonical(name)}
        if not values:
            return False
        step = _STEP.search(text)
        table.add(float(step[1]) if step else None, line, values)
        return True
