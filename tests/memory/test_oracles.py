"""Published figures that the formulas must give: the ZeRO paper, DeepSpeed's memory page, Unsloth's GRPO table."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.memory import terms, zero
from grpo_guard.memory.cards import card
from grpo_guard.memory.plan import Plan, Rollout, Trainer
from grpo_guard.memory.shapes import known_shape

GIB = 1024**3


@pytest.mark.parametrize("stage, gb", [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_zero_paper_7_5e9_parameters_on_64_gpus(stage, gb):
    assert sum(zero.model_states(7.5e9, stage, 64).values()) / 1e9 == pytest.approx(gb, abs=0.05)


@pytest.mark.parametrize("stage", zero.STAGES)
def test_one_gpu_makes_all_stages_equal(stage):
    assert sum(zero.model_states(7.5e9, stage, 1).values()) == 120e9


@pytest.mark.parametrize(
    "stage, optimizer, weights, printed",
    [
        (2, True, False, 5.31),
        (2, False, False, 15.93),
        (3, False, False, 6.10),
        (3, True, False, 0.79),
        (3, True, True, 0.12),
    ],
)
def test_deepspeed_page_t5_3b_on_8_gpus(stage, optimizer, weights, printed):
    size = zero.deepspeed_page(2851e6, 32e6, 8, stage, optimizer_on_host=optimizer, weights_on_host=weights)
    assert size / GIB == pytest.approx(printed, abs=0.011)


@pytest.mark.parametrize("stage, ranks", [(4, 8), (-1, 8), (2, 0)])
def test_a_stage_that_is_none_is_refused(stage, ranks):
    with pytest.raises(InputError, match="stages are 0 to 3"):
        zero.model_states(1e9, stage, ranks)


def plan(trainer: Trainer, rollout: Rollout | None = None) -> Plan:
    return Plan(known_shape("Llama-3.1-8B"), card("H100"), "", trainer, rollout or Rollout(engine="none"))


def test_unsloth_logits_of_eight_answers_of_20k_tokens():
    tokens = 8 * 20_480
    found = terms.logits(plan(Trainer(update_tokens=tokens, update_logits=tokens, logit_bytes=4)), gradient=True)
    assert found.gib == pytest.approx(78.3, abs=0.05)


def test_unsloth_kv_cache_and_weights():
    shape = known_shape("Llama-3.1-8B")
    assert 20_480 * shape.kv_bytes_per_token() / GIB == 2.5
    assert terms.trainer_weights(plan(Trainer())).size / 1e9 == pytest.approx(16, abs=0.07)


def calibrate():
    place = Path(__file__).parents[2] / "benchmarks/memory/calibrate.py"
    spec = importlib.util.spec_from_file_location("calibrate", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibrate"] = module
    spec.loader.exec_module(module)
    return module


def test_calibration_holds_its_goals():
    module = calibrate()
    found = module.rows()
    told = module.summary(found)
    assert len(found) >= 15
    assert told["measured"] >= 15
    assert told["mean"] <= module.GOAL_MEAN
    assert told["measured_mean"] <= module.GOAL_MEAN
    assert told["worst"] <= module.GOAL_WORST


def test_a_row_that_is_off_by_more_than_a_tenth_says_why():
    assert [row.id for row in calibrate().rows() if abs(row.error) > 0.10 and not row.reason] == []


def test_the_committed_table_is_fresh():
    module = calibrate()
    assert (module.HERE / "table.md").read_text("utf-8") == module.table()
