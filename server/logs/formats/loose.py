"""Pasted scraps: `actor/grad_norm:nan`, `loss 0.0`, `loss: 2.1 -> 2.0 -> nan`. For short texts without records."""

from __future__ import annotations

import re

from .. import metrics
from ..numbers import NUMBER, WRAPPED
from ..table import Table

_NAME = r"[A-Za-z_][\w/@.-]*(?:[ _](?:norm|scale|mean|max|min|length))?"
_START = r"(?:^|(?<=[\s,;|({\[`'\"]))"
_PAIR = re.compile(rf"{_START}({_NAME})['\"]?(?:\s*[:=]\s*| +)['\"]?{WRAPPED}({NUMBER})(?![\w.])")
_COURSE = re.compile(rf"^\s*({_NAME})\s*[:=]\s*({NUMBER}(?:\s*(?:->|→|,)\s*{NUMBER})+)")
_NUMBER = re.compile(NUMBER)
_STEP = re.compile(r"(?:^|\W)(?:global[ _])?(?:step|iteration|iter|rollout)[ :=#]{1,3}(\d+)\b", re.IGNORECASE)


class LooseLines:
    name = "scraps"
    framework = ""
    marks: tuple[str, ...] = (":", "=")
    waiting = False

    def take(self, text: str, line: int, table: Table) -> bool:
        if course := _COURSE.match(text):
            for step, value in enumerate(_NUMBER.findall(course[2])):
                table.add(float(step), line, {course[1]: float(value)})
            return True
        values = {name: float(value) for name, value in _PAIR.findall(text) if metrics.canonical(name)}
        if not values:
            return False
        told = _STEP.search(text)
        table.add(float(told[1]) if told else None, line, values)
        return True
