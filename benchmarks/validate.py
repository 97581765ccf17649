"""`grpo-guard validate` of a 60-line verl script: the whole process, and the check alone in a process that runs on.

The whole process is compared with one that does nothing but import three libraries, run in turn with it:
python -c "import pydantic, yaml, rapidfuzz". Run it in the environment that grpo-guard is installed in:
python benchmarks/validate.py [--rounds 25]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from timing import elapsed, interleave, print_goal, print_table, ratio

SCRIPT = Path(__file__).parent / "data" / "verl_grpo.sh"
COMMAND = Path(sys.executable).with_name("grpo-guard")  # as installed beside this interpreter
VALIDATE = [str(COMMAND), "validate", "--version", "verl=0.8.0", str(SCRIPT)]
IMPORTS = [sys.executable, "-c", "import pydantic, yaml, rapidfuzz"]
WARM_UPS, CALLS = 20, 200


def run(command: Sequence[str]) -> float:
    """Seconds of the whole process. Raises RuntimeError when it fails (code 1 means findings, which is no failure)."""
    done: list[subprocess.CompletedProcess[bytes]] = []
    seconds = elapsed(lambda: done.append(subprocess.run(command, capture_output=True, check=False)))
    if done[0].returncode not in (0, 1) or (done[0].returncode == 1 and not done[0].stdout):
        raise RuntimeError(f"{command[:4]} failed: {done[0].stderr.decode()[-500:]}")
    return seconds


def calls_in_process() -> list[float]:
    """Seconds of each call, from the file to the report."""
    from grpo_guard.validate import validate_targets

    def call() -> object:
        return validate_targets([SCRIPT], versions={"verl": "0.8.0"})

    for _ in range(WARM_UPS):
        call()
    return [elapsed(call) for _ in range(CALLS)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    candidates = {"grpo-guard validate": partial(run, VALIDATE), "three imports": partial(run, IMPORTS)}
    seconds, calls = interleave(candidates, rounds), calls_in_process()
    print_table({**seconds, f"in process, {CALLS} calls": calls})
    print_goal("validate / three imports", ratio(seconds, "grpo-guard validate", "three imports"), 1.6)
    print_goal("in process, median", statistics.median(calls) * 1000, 10, " ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
