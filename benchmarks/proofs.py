"""How long the numeric check of each proof runs: process seconds, best of three. Goal: below 0.5 s each.

python benchmarks/proofs.py
"""

from __future__ import annotations

import time
from typing import Any

from grpo_guard.proofs.answer import run
from grpo_guard.store.lookup import proofs

GOAL_SECONDS = 0.5


def main() -> None:
    slowest = 0.0
    for entry in proofs():
        fastest = min(seconds(entry) for _ in range(3))
        slowest = max(slowest, fastest)
        print(f"{entry['id']:<28} {fastest:6.3f} s")
    print(f"slowest {slowest:.3f} s, goal {GOAL_SECONDS} s: {'met' if slowest < GOAL_SECONDS else 'MISSED'}")


def seconds(entry: dict[str, Any]) -> float:
    started = time.process_time()
    run(entry)
    return time.process_time() - started


if __name__ == "__main__":
    main()
