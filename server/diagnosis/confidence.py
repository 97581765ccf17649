"""From scores to confidence: how often a hypothesis with such a lead was right (benchmarks/diagnosis)."""

from __future__ import annotations

import math

from . import index
from .ranking import Ranked

_LEAST = 0.1
_MOST = 0.97  # of 95 labelled cases a few had a second cause that was as good


def confidences(ranked: Ranked) -> dict[str, float]:
    """Per pattern a probability: a softmax of the scores, whose temperature was fitted on labelled cases."""
    sharpness = float(index.data()["knobs"]["sharpness"])
    top = ranked.candidates[0].score
    sharpness /= min(1.0, max(top, _LEAST))  # without words the scores are smaller, not the differences less telling
    raised = {row.pattern: math.exp(sharpness * (row.score - top)) for row in ranked.candidates}
    whole = sum(raised.values())
    return {pattern: min(_MOST, value / whole) for pattern, value in raised.items()}
