"""verl: prompts, samples and tokens of one training step, and how they are cut into mini- and micro-batches.

`data.train_batch_size` and `ppo_mini_batch_size` count prompts; every prompt is sampled `rollout.n` times.
"""

from __future__ import annotations

from typing import Any

from ..run_config import RunConfig
from .common import product, whole

_RANKED_BACKENDS = ("fsdp", "fsdp2", "megatron")


def ranks(run: RunConfig) -> int | None:
    """Data-parallel ranks of the trainer; None when unknown, or for an engine whose mesh is not modelled."""
    if run.value("sharding_backend") not in _RANKED_BACKENDS:
        return None
    return whole(run.value("data_parallel_size"))


def mini_batch_samples(run: RunConfig) -> int | None:
    """Samples of one optimizer step, over all ranks."""
    return product(run.value("mini_batch_prompts"), run.value("group_size"))


def batch(run: RunConfig) -> dict[str, Any]:
    """The batch table: numbers by name, and under "formula" how each came about. Only what can be computed.

    Empty for a run without a training batch of its own (fully asynchronous training streams single prompts).
    """
    table = _Table()
    prompts, group = whole(run.value("train_batch_prompts")), whole(run.value("group_size"))
    if not prompts:
        return {}
    table.add("prompts_per_step", prompts)
    samples = table.add("samples_per_step", product(prompts, group), f"{prompts} prompts x {group}")
    _add_tokens(table, run, samples)
    if samples and (count := ranks(run)) and samples % count == 0:
        table.add("samples_per_gpu", samples // count, f"{samples} / {count} data-parallel ranks")
    _add_mini_batches(table, run, prompts, group)
    return table.rows()


class _Table:
    """Rows of the table, skipping what is not known."""

    def __init__(self) -> None:
        self._numbers: dict[str, Any] = {}
        self._formulas: dict[str, str] = {}

    def add(self, name: str, value: int | None, formula: str = "") -> int | None:
        if value is not None:
            self._numbers[name] = value
            if formula:
                self._formulas[name] = formula
        return value

    def rows(self) -> dict[str, Any]:
        return {**self._numbers, "formula": self._formulas} if self._formulas else self._numbers


def _add_tokens(table: _Table, run: RunConfig, samples: int | None) -> None:
    prompt, response = whole(run.value("max_prompt_length")), whole(run.value("max_response_length"))
    if samples and prompt is not None and response is not None:
        length = prompt + response
        table.add("tokens_per_step", samples * length, f"{samples} x ({prompt} + {response})")


def _add_mini_batches(table: _Table, run: RunConfig, prompts: int, group: int | None) -> None:
    mini, epochs = whole(run.value("mini_batch_prompts")), whole(run.value("ppo_epochs"))
    if not mini:
        return
    samples = table.add("samples_per_optimizer_step", product(mini, group), f"{mini} prompts x {group}")
    if prompts % mini == 0:
        count = table.add("mini_batches", prompts // mini, f"{prompts} / {mini} prompts")
        table.add("optimizer_steps_per_rollout", product(count, epochs), f"{count} x {epochs} epochs")
    micro, count = whole(run.value("micro_batch_per_gpu")), ranks(run)
    fixed = run.value("use_dynamic_bsz") is False
    if fixed and samples and micro and count and samples % (count * micro) == 0:
        table.add("micro_steps", samples // (count * micro), f"{samples} / ({count} ranks x {micro})")
