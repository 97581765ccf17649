"""Records printed as one dict on a line: Transformers and TRL, OpenRLHF, slime, SkyRL, JSON loggers on a console."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .. import metrics
from ..numbers import NUMBER, WRAPPED
from ..table import Table

_PAIR = re.compile(rf"""['"]([^'"\\]{{1,200}})['"]\s*:\s*['"]?{WRAPPED}({NUMBER})""")
_HEAD = re.compile(
    r"(?:^|[\W_])(?:(global[ _]step|train step)|step|rollout|iteration|eval|perf|passrate|multi_turn)"
    r"[ =:]{1,3}(\d+)\s*[:,|-]?\s*$",
    re.IGNORECASE,
)
# Settings carry these names too, so alone they do not make a record of metrics.
_WEAK = {"learning_rate", "clip_fraction", "kl", "entropy", "gpu_memory", "loss_scale", "throughput"}
_LONGEST = 20_000


class DictLines:
    name = "dict lines"
    framework = ""
    marks: tuple[str, ...] = ("{'", '{"')
    waiting = False

    def __init__(self) -> None:
        self._next = 0.0  # records without a step are counted

    def take(self, text: str, line: int, table: Table) -> bool:
        start = text.find("{")
        if start < 0 or len(text) - start > _LONGEST or text.find("{", start + 1) >= 0:
            return False  # nested: a config, not a record
        end = text.find("}", start)
        if end < 0 and text.rstrip().endswith(","):
            return False  # goes on in the next line
        body = text[start : end + 1] if end >= 0 else text[start:]
        values = {name: float(written) for name, written in _PAIR.findall(body)}
        if not is_record(values):
            return False
        step = self._step(text[:start], values)
        table.add(step, line, values)
        self._next = step + 1
        return True

    def _step(self, before: str, values: Mapping[str, float]) -> float:
        for name in metrics.step_order():
            if name in values:
                return values[name]
        if all(name.startswith("eval_") or name == "epoch" for name in values):
            return max(0.0, self._next - 1)  # a score belongs to the step before
        head = _HEAD.search(before)
        return float(head[2]) if head else self._next


def is_record(values: Mapping[str, float]) -> bool:
    """Whether named numbers are metrics of a step rather than settings."""
    known = {found[0] for name in values if (found := metrics.canonical(name))}
    return bool(known - _WEAK) and (len(values) > 1 or any("/" in name for name in values))
