"""Loading the compiled knowledge for a look-up, in a fresh process, and answering once it is there.

Run it in the environment that grpo-guard is installed in: python benchmarks/lookup.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial

from timing import elapsed, print_goal, print_table

LOAD = """
from time import perf_counter

start = perf_counter()
from grpo_guard.store.lookup import lookup

lookup()
print(perf_counter() - start)
"""
CALLS = 50


def load() -> float:
    """Seconds from the import of the store to the loaded knowledge, measured inside a new interpreter."""
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    return float(done.stdout)


def look_ups() -> dict[str, Callable[[], object]]:
    from grpo_guard.lookup.explain import explain
    from grpo_guard.lookup.fixes import fixes
    from grpo_guard.lookup.matrix import matrix
    from grpo_guard.lookup.notes import read_reference
    from grpo_guard.lookup.symptoms import symptoms

    return {
        "symptoms": partial(symptoms, "loss turns nan after some steps", detail="brief"),
        "fixes": partial(fixes, bug="verl-6782", detail="brief"),
        "matrix": partial(matrix, detail="brief"),
        "explain": partial(explain, "verl-6782", detail="brief"),
        "read_reference, search": partial(read_reference, search="sleep level", detail="brief"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    loads = [load() for _ in range(rounds + 1)][1:]  # the first one warms the disk cache
    calls: dict[str, list[float]] = {}
    for name, call in look_ups().items():
        call()
        calls[name] = [elapsed(call) for _ in range(CALLS)]
    print_table({"load": loads, **calls})
    slowest = max(statistics.median(values) for values in calls.values())
    print_goal("load, median", statistics.median(loads) * 1000, 30, " ms")
    print_goal("slowest look-up, median", slowest * 1000, 100, " ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
