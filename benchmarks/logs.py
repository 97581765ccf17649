"""How fast logs are read and judged, and in how much memory.

python benchmarks/logs.py [--megabytes N] [--rounds N]

Whole processes: a 5,000-step JSONL file (goal 1 s), and large files in several formats (goal: 300 MB of memory at
200 MB of log).
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "diagnosis"))
import healthy

STEPS, GOAL_SECONDS, GOAL_MEGABYTES, GOAL_SCAN = 5_000, 1.0, 300, 100
_PROBE = """
import resource, sys, time
from pathlib import Path
from grpo_guard.logs import read_logs
from grpo_guard.diagnosis.signals import detect
start = time.perf_counter()
reading = read_logs([Path(sys.argv[1])])
read = time.perf_counter() - start
found = detect(reading)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(read, time.perf_counter() - start - read, peak / (1024 if sys.platform != "darwin" else 1024 * 1024))
from grpo_guard.diagnosis import signatures
from grpo_guard.logs.lines import Cutter, chunks_of_file
signatures.find(["x"])
scan, seconds, lines = signatures.Scan(), 0.0, 0
with open(sys.argv[1], "rb") as file:
    for chunk in chunks_of_file(file, Cutter()):
        start = time.process_time()
        scan.feed(chunk.numbers, chunk.lines)
        seconds += time.process_time() - start
print(seconds, len(signatures.index.data()["signatures"]))
"""
_OURS = "import sys; from grpo_guard.cli import main; sys.exit(main())"


def large_logs(folder: Path, megabytes: int) -> Iterator[tuple[str, Path]]:
    """A console with noise, records alone, lines of which no two are alike, and noise alone."""
    runs = healthy.rows(healthy.VARIANTS[-1], 0)
    parts = {
        "verl console": healthy.verl_console(runs, random.Random(0)),
        "JSONL": healthy.verl_file(runs, random.Random(0)),
        "words": words(random.Random(0)),
        "no metrics": "(WorkerDict pid=4711) INFO 08-20 [gpu_model_runner.py:55] Loading weights took 3.2 seconds\n"
        * 5000,
    }
    for name, part in parts.items():
        path = folder / f"{name.replace(' ', '-')}.log"
        size = len(part.encode())
        with path.open("w", encoding="utf-8") as file:
            for _ in range(max(1, megabytes * 1_000_000 // size)):
                file.write(part)
        yield name, path
        path.unlink()


def words(dice: random.Random) -> str:
    """Lines of made-up words with words of errors among them: the worst for what knows a line by its shape."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    known = ["".join(dice.choices(letters, k=dice.randrange(3, 9))) for _ in range(5000)]
    known += ["error", "cuda", "memory", "engine", "rank", "failed"] * 50
    return "".join(f"{' '.join(dice.choices(known, k=18))}\n" for _ in range(150_000))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        path = folder / "run.jsonl"
        variant = healthy.Variant("timed", steps=STEPS, every=50)
        path.write_text(healthy.skyrl(healthy.rows(variant, 0), random.Random(0)), encoding="utf-8")
        best = min(
            _seconds([sys.executable, "-c", _OURS, "diagnose", "--log", str(path)]) for _ in range(options.rounds)
        )
        print(f"{f'{STEPS:,} steps, process':28} {best:7.2f} s     goal {GOAL_SECONDS:g} s")
        for name, log in large_logs(folder, options.megabytes):
            size = log.stat().st_size / 1e6
            done = subprocess.run([sys.executable, "-c", _PROBE, str(log)], capture_output=True, text=True, check=True)
            read, judged, peak, scanned, signatures = map(float, done.stdout.split())
            print(f"{f'{name}, {size:.0f} MB, memory':28} {peak:7.0f} MB    goal {GOAL_MEGABYTES} MB")
            print(f"{'':28} {size / read:7.0f} MB/s  read {read:.1f} s, judged {judged:.1f} s")
            print(
                f"{'':28} {size / scanned:7.0f} MB/s  scanned for {signatures:.0f} signatures    goal {GOAL_SCAN} MB/s"
            )
    return 0


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
