"""The model that the seeds' figures are about: Qwen2.5-7B."""

from __future__ import annotations

LAYERS = 28
PARAMETERS = 7.6156e9
# Inputs and outputs of a layer's linear modules: query, key, value, output, then gate, up and down.
ATTENTION = ((3584, 3584), (3584, 512), (3584, 512), (3584, 3584))
LINEAR = (*ATTENTION, (3584, 18944), (3584, 18944), (18944, 3584))


def adapter_parameters(modules: tuple[tuple[int, int], ...], rank: int) -> int:
    """Of LoRA on these modules in every layer."""
    return LAYERS * rank * sum(inputs + outputs for inputs, outputs in modules)
