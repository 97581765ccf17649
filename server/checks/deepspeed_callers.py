"""What the releases of transformers do that the releases of DeepSpeed under them refuse."""

from __future__ import annotations

from ..configs.adapters.common import whole
from ..configs.run_config import RunConfig
from ..store.versions import in_range
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome, Unknown

_ACCUMULATES_INSIDE = {"transformers": ">=4.46.0,<4.47.1", "deepspeed": ">=0.16.0"}


def no_sync(run: RunConfig) -> Outcome:
    """Accumulation inside `no_sync`, which asserts that gradients are not partitioned (stage 0 and 1).

    Both versions have to be known: the releases of transformers that do it are a few weeks' worth.
    """
    if run.value("zero_stage") not in (2, 3):
        return NOT_APPLICABLE
    if not _ACCUMULATES_INSIDE.keys() <= run.versions.keys():
        return NotApplicable("concerns transformers 4.46.0 to 4.47.0 with DeepSpeed 0.16.0 or later")
    if not all(in_range(run.versions[name], affected) for name, affected in _ACCUMULATES_INSIDE.items()):
        return PASS
    steps = whole(run.value("gradient_accumulation"))
    if steps is None:
        return Unknown(frozenset(["gradient_accumulation"]))
    if steps < 2:
        return PASS
    return Hit(
        "gradient_accumulation",
        f"transformers {run.versions['transformers']} runs {steps} micro-batches inside no_sync, which DeepSpeed "
        f"{run.versions['deepspeed']} refuses at stage {run.value('zero_stage')}: the first step dies in an assertion.",
        "Upgrade transformers to 4.47.1 or later.",
    )
