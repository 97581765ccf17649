"""The statistics against what can be worked out by hand."""

from __future__ import annotations

import random

import pytest

from grpo_guard.diagnosis.signals.statistics import change_point, mad, noise, spikes, trend


def test_a_line_has_its_slope_and_full_tau():
    found = trend(range(100), [2.0 * step + 1 for step in range(100)])
    assert (found.tau, found.slope, found.up, found.down) == (1.0, 2.0, True, False)
    assert found.change == pytest.approx(2 * 97.5, abs=3)


def test_one_outlier_does_not_turn_a_line():
    values = [float(step) for step in range(30)]
    values[15] = 1e9
    assert trend(range(30), values).slope == pytest.approx(1.0)


def test_noise_has_no_trend_and_a_constant_none_at_all():
    dice = random.Random(3)
    hits = sum(trend(range(60), [dice.gauss(0, 1) for _ in range(60)]).z > 2.58 for _ in range(200))
    assert hits <= 6  # about 1 in 200 is due
    assert trend(range(60), [0.5] * 60).z == 0
    assert trend([1, 2, 3, 4], [1, 2, 3, 4]).z == 0  # too few


def test_spread_is_that_of_the_noise_around_a_course():
    dice = random.Random(1)
    values = [0.01 * step + dice.gauss(0, 0.5) for step in range(2000)]
    assert noise(values) == pytest.approx(0.5, rel=0.1)
    assert mad([dice.gauss(5, 2) for _ in range(4000)]) == pytest.approx(2, rel=0.1)


def test_a_step_is_found_and_a_line_is_none():
    place, before, after = change_point([0.0] * 37 + [1.0] * 63) or (0, 0, 0)
    assert (place, before, after) == (37, 0.0, 1.0)
    assert change_point([0.5] * 50) is None
    assert change_point([1.0, 2.0]) is None


def test_spikes_tower_over_a_moving_level():
    values = [1.0 + 0.05 * step for step in range(100)]
    values[40] *= 30
    values[70] *= 3  # no spike: below the factor
    assert spikes(values, 8.0, 5.0) == [40]
    assert spikes([0.0] * 50, 8.0, 5.0) == []
