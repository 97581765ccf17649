"""What looks odd and is not, and runs in which nothing is odd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from .run import Run, number
from .signal import LogSignal, seen, signal

_TINY = 1e-3
_ROWS, _METRICS = 20, 4
_TELLING = (
    "reward_mean",
    "score_mean",
    "eval_score",
    "grad_norm",
    "entropy",
    "kl",
    "response_length",
    "clip_fraction",
    "prob_gap",
)


def detect(run: Run, found: Sequence[LogSignal]) -> Iterator[LogSignal]:
    """Expected behaviour, said only when no gradient is missing and nothing else is wrong."""
    norm = run.get("grad_norm")
    moves = norm is None or median(norm.values) > 0
    faults = [row for row in found if row.severity != "info"]
    if moves and not faults:
        loss = run.get("loss") or run.get("policy_loss")
        if norm and loss and abs(median(loss.values)) < _TINY:
            text = f"{loss.name} is near {number(median(loss.values))}"
            text += f" while {norm.name} is {number(median(norm.values))}"
            yield seen("loss_zero_normal", text, loss, 0)
        clipped = run.get("clip_fraction")
        if clipped and max(clipped.values) == 0:
            text = f"{clipped.name} is 0 at each of {len(clipped)} steps: with one update per rollout the ratio is 1"
            yield seen("clip_zero_normal", text, clipped, 0)
    looked = [name for name in _TELLING if (row := run.get(name)) and len(row) >= _ROWS]
    if not faults and len(looked) >= _METRICS:
        names = ", ".join(run.reading.series[name].name for name in looked)
        yield signal("all_normal", f"looked at {names}")
