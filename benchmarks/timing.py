"""Paired timing: candidates take turns in every round, so that a machine that slows down slows all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from time import perf_counter

Rounds = dict[str, list[float]]


def interleave(candidates: Mapping[str, Callable[[], float]], rounds: int) -> Rounds:
    """Seconds per candidate and round, after one round that is not counted. Each candidate times itself."""
    for run in candidates.values():
        run()
    seconds: Rounds = {name: [] for name in candidates}
    for turn in range(rounds):
        # Every other round runs backwards: neither candidate always follows the other.
        for name in sorted(candidates, reverse=bool(turn % 2)):
            seconds[name].append(candidates[name]())
    return seconds


def elapsed(work: Callable[[], object]) -> float:
    """Seconds that `work` took."""
    start = perf_counter()
    work()
    return perf_counter() - start


def ratio(seconds: Rounds, name: str, base: str) -> float:
    """Median over the rounds of `name` divided by `base` of the same round."""
    return statistics.median(a / b for a, b in zip(seconds[name], seconds[base], strict=True))


def print_table(seconds: Rounds) -> None:
    """Minimum and median of each candidate in milliseconds."""
    print(f"{'':28} {'min ms':>9} {'median ms':>10}")
    for name, values in seconds.items():
        print(f"{name:28} {min(values) * 1000:9.1f} {statistics.median(values) * 1000:10.1f}")


def print_goal(title: str, value: float, goal: float, unit: str = "") -> None:
    """One figure beside its goal."""
    print(f"{title:28} {value:9.2f}{unit} goal {goal}{unit}: {'met' if value <= goal else 'MISSED'}")
