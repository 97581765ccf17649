"""The nearest divisor, against the definition and for sizes that must not take long."""

import pytest

from grpo_guard.checks.divisors import divisor_at_most


@pytest.mark.parametrize("size", [1, 2, 7, 12, 97, 360, 1024])
def test_it_is_the_largest_divisor_not_above_the_limit(size: int) -> None:
    for limit in range(1, size + 2):
        expected = max(part for part in range(1, size + 1) if size % part == 0 and part <= limit)
        assert divisor_at_most(size, limit) == expected, limit


@pytest.mark.parametrize(("size", "limit"), [(0, 4), (-8, 4), (8, 0), (8, -1)])
def test_sizes_without_a_divisor(size: int, limit: int) -> None:
    assert divisor_at_most(size, limit) == 1


def test_huge_sizes_are_answered() -> None:
    assert divisor_at_most(10**30, 10**29) == 10**29
    assert divisor_at_most(2**61 - 1, 10**18) == 1  # a prime
