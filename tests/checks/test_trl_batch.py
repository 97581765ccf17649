"""TRL and DeepSpeed arithmetic: fires exactly when the released assertion does, and its fix passes that assertion."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from grpo_guard.checks import deepspeed_batch, trl_batch
from grpo_guard.checks.outcome import NOT_APPLICABLE, PASS, Hit, Outcome, Unknown
from grpo_guard.configs.adapters import deepspeed
from grpo_guard.configs.adapters.trl_defaults import batch_sizes
from grpo_guard.configs.run_config import DEFAULT, EXPLICIT, RunConfig, Setting

SIZES = range(1, 9)


def run_with(version: str = "0.22.2", **fields: Any) -> RunConfig:
    run = RunConfig("trl", versions={"trl": version})
    for name, value in {"adv_estimator": "grpo", **fields}.items():
        if value is not None:
            run.settings[name] = Setting(name, name, value, EXPLICIT)
    batch_sizes(run, version)
    return run


def sizes_that_work(outcome: Outcome) -> Callable[[int], bool]:
    assert isinstance(outcome, Unknown)
    (need,) = outcome.needs
    if match := re.search(r"multiple of (\d+)", need):
        step = int(match[1])
        return lambda world: world % step == 0
    if match := re.search(r"divisor of (\d+)", need):
        number = int(match[1])
        return lambda world: number % world == 0
    (only,) = re.findall(r"works with (\d+)", need)
    return lambda world: world == int(only)


@pytest.mark.parametrize(("micro", "steps", "group"), list(itertools.product((1, 2, 3, 4), (1, 2, 3), (2, 3, 4, 6, 8))))
def test_generation_batch_holds_whole_groups(micro: int, steps: int, group: int) -> None:
    fields = {"micro_batch_per_gpu": micro, "gradient_accumulation": steps, "group_size": group}

    def check(**changes: Any) -> Outcome:
        return trl_batch.group_divides_generation_batch(run_with(**fields | changes))

    without = check()
    works = (lambda world: True) if without is PASS else sizes_that_work(without)
    for world in SIZES:
        outcome = check(world_size=world)
        holds = micro * steps * world % group == 0
        assert (outcome is PASS) is holds is works(world)
        if isinstance(outcome, Hit):
            assert check(world_size=world, **outcome.edits) is PASS


@pytest.mark.parametrize(("micro", "group"), list(itertools.product((1, 2, 3, 4, 8), (2, 4, 6, 8))))
def test_before_0_17_the_micro_batch_over_all_processes_holds_whole_groups(micro: int, group: int) -> None:
    for world in SIZES:
        run = run_with("0.16.1", micro_batch_per_gpu=micro, gradient_accumulation=8, group_size=group, world_size=world)
        outcome = trl_batch.group_divides_micro_batch(run)
        assert (outcome is PASS) is (micro * world % group == 0)


@pytest.mark.parametrize(("size", "micro", "group"), list(itertools.product((32, 48, 96, 100), (2, 4, 8), (4, 8))))
def test_stated_generation_batch_is_a_multiple_of_a_step(size: int, micro: int, group: int) -> None:
    fields = {"generation_batch_size": size, "micro_batch_per_gpu": micro, "group_size": group}
    without = trl_batch.generation_batch_is_multiple(run_with(**fields))
    works = sizes_that_work(without) if isinstance(without, Unknown) else lambda world: False
    for world in SIZES:
        outcome = trl_batch.generation_batch_is_multiple(run_with(**fields, world_size=world))
        assert (outcome is PASS) is (size % (micro * world) == 0) is works(world)
        if isinstance(outcome, Hit):
            mended = run_with(**fields | outcome.edits, world_size=world)
            assert trl_batch.generation_batch_is_multiple(mended) is PASS
            assert trl_batch.group_divides_generation_batch(mended) is PASS


@pytest.mark.parametrize(("micro", "group"), list(itertools.product((1, 2, 3, 8), (2, 4, 8))))
def test_evaluation_batch_holds_whole_groups(micro: int, group: int) -> None:
    for world in SIZES:
        fields = {"eval_batch_per_gpu": micro, "group_size": group, "eval_strategy": "steps", "world_size": world}
        outcome = trl_batch.eval_batch_holds_groups(run_with(**fields))
        assert (outcome is PASS) is (micro * world % group == 0)
        if isinstance(outcome, Hit):
            assert trl_batch.eval_batch_holds_groups(run_with(**fields | outcome.edits)) is PASS


def test_evaluation_may_have_a_group_size_of_its_own() -> None:
    fields = {"eval_batch_per_gpu": 2, "group_size": 8, "eval_strategy": "steps", "world_size": 2}

    assert isinstance(trl_batch.eval_batch_holds_groups(run_with("1.0.0", **fields)), Hit)
    assert trl_batch.eval_batch_holds_groups(run_with("1.0.0", **fields, group_size_eval=4)) is PASS


@pytest.mark.parametrize("version", ["0.14.0", "0.20.0", "0.21.0"])
def test_releases_without_the_evaluation_assertion(version: str) -> None:
    run = run_with(version, eval_batch_per_gpu=1, group_size=8, eval_strategy="steps", world_size=1)

    assert trl_batch.eval_batch_holds_groups(run) is NOT_APPLICABLE


@pytest.mark.parametrize("parallel", [1, 2, 3, 4])
def test_tensor_parallel_size_divides_the_processes(parallel: int) -> None:
    for world in SIZES:
        fields = {"rollout_mode": "colocate", "rollout_tensor_parallel": parallel, "world_size": world}
        outcome = trl_batch.tensor_parallel_divides(run_with(**fields))
        assert (outcome is PASS) is (world % parallel == 0)
        if isinstance(outcome, Hit):
            assert trl_batch.tensor_parallel_divides(run_with(**fields | outcome.edits)) is PASS


def test_a_server_may_have_any_tensor_parallel_size() -> None:
    run = run_with(rollout_mode="server", rollout_tensor_parallel=4, world_size=7)

    assert trl_batch.tensor_parallel_divides(run) is NOT_APPLICABLE


def test_a_default_decides_nothing_where_only_a_part_is_known() -> None:
    run = run_with(group_size=6, world_size=4)
    for name, value in (("micro_batch_per_gpu", 8), ("gradient_accumulation", 1)):
        run.settings[name] = Setting(name, name, value, DEFAULT)
    batch_sizes(run, "0.22.2")
    assert isinstance(trl_batch.group_divides_generation_batch(run), Hit)

    run.partial = "train.py may set in code what its command line does not say"

    assert trl_batch.group_divides_generation_batch(run) == Unknown(
        frozenset(["micro_batch_per_gpu", "gradient_accumulation"])
    )


def ds_run(world: int | None, **fields: Any) -> RunConfig:
    run = RunConfig("deepspeed")
    for name, value in {"world_size": world, **fields}.items():
        if value is not None:
            run.settings[name] = Setting(name, name, value, EXPLICIT)
    deepspeed.derive_batch(run)
    return run


@pytest.mark.parametrize(
    ("batch", "micro", "steps"), list(itertools.product((16, 24, 64), (1, 2, 4, None), (1, 3, 4, None)))
)
def test_ds_config_product(batch: int, micro: int | None, steps: int | None) -> None:
    fields = {"train_batch_samples": batch, "micro_batch_per_gpu": micro, "gradient_accumulation": steps}
    without = deepspeed_batch.product_holds(ds_run(None, **fields))
    for world in SIZES:
        outcome = deepspeed_batch.product_holds(ds_run(world, **fields))
        holds = _deepspeed_accepts(batch, micro, steps, world)
        if micro is None and steps is None:
            assert outcome is PASS
            continue
        assert (outcome is PASS) is holds
        if isinstance(without, Unknown):
            assert sizes_that_work(without)(world) is holds
        else:
            assert not holds
        if isinstance(outcome, Hit):
            assert deepspeed_batch.product_holds(ds_run(world, **fields | outcome.edits)) is PASS


def _deepspeed_accepts(batch: int, micro: int | None, steps: int | None, world: int) -> bool:
    """DeepSpeedConfig._set_batch_related_parameters and _batch_assertion (0.19.5), restated."""
    if micro is not None and steps is None:
        steps = batch // micro // world
    elif micro is None and steps is not None:
        micro = batch // world // steps
    return bool(micro and steps) and batch == (micro or 0) * (steps or 0) * world
