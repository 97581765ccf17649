"""DeepSpeed's own lines: `step=10, skipped=0, lr=[1e-06], ...`, throughput with memory, fp16 overflow."""

from __future__ import annotations

import re

from ..numbers import NUMBER
from ..table import Table

_STEP = re.compile(rf"\bstep=(\d+), skipped=(\d+), lr=\[({NUMBER})")
_SPEED = re.compile(r"\bglobal_step=(\d+), (RunningAvgSamplesPerSec=.*)")
_FIELD = re.compile(rf"(\w+)=({NUMBER})")
_OVERFLOW = re.compile(r"OVERFLOW! .*?Skipping step(?:.*?Attempted loss scale: (\d+)(?:, reducing to (\d+))?)?")
OVERFLOWS = "overflow"  # one row with this name per step that was skipped


class DeepSpeedLines:
    name = "DeepSpeed"
    framework = "deepspeed"
    marks: tuple[str, ...] = ("skipped=", "SamplesPerSec=", "OVERFLOW")
    waiting = False

    def take(self, text: str, line: int, table: Table) -> bool:
        if found := _STEP.search(text):
            table.add(float(found[1]), line, {"skipped": float(found[2]), "lr": float(found[3])})
        elif found := _SPEED.search(text):
            table.add(float(found[1]), line, {name: float(value) for name, value in _FIELD.findall(found[2])})
        elif found := _OVERFLOW.search(text):
            scale = found[2] or found[1]
            table.add(table.last_step, line, {OVERFLOWS: 1.0} | ({"loss_scale": float(scale)} if scale else {}))
        else:
            return False
        return True
