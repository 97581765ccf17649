"""`grpo-guard validate DIR` over 1,000 scripts and configs: files per second, how far the cores are used, memory.

The files are copies of tests/cases, each with a comment of its own. Run it in the environment that grpo-guard is
installed in: python benchmarks/directory.py [--files 1000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from timing import interleave, print_goal, print_table, ratio

CASES = Path(__file__).parent.parent / "tests" / "cases"
COMMAND = Path(sys.executable).with_name("grpo-guard")
SUFFIXES = (".sh", ".yaml", ".json", ".py")
COMMENT = {".sh": "#", ".yaml": "#", ".py": "#"}  # JSON has none


class Figures(NamedTuple):
    """Seconds on the clock; seconds of CPU of the command's own process and of each worker; what it says it did."""

    wall: float
    cpu: list[float]
    summary: dict[str, int]


def write_files(folder: Path, count: int) -> int:
    """Bytes written: `count` files in folders of 50."""
    cases = sorted(path for path in CASES.rglob("*") if path.suffix in SUFFIXES)
    size = 0
    for number in range(count):
        case = cases[number % len(cases)]
        text = case.read_text(encoding="utf-8")
        mark = COMMENT.get(case.suffix)
        text += f"\n{mark} copy {number}\n" if mark else "\n"
        target = folder / f"{number // 50:03}" / f"{number:05}_{case.name}"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
        size += len(text.encode())
    return size


def run(folder: Path, cores: set[int]) -> Figures:
    """One run on some of the cores. Raises RuntimeError when it fails."""
    command = [str(COMMAND), "validate", "--format", "json", "--fail-on", "never", str(folder)]
    with tempfile.TemporaryFile() as output:
        start = perf_counter()
        started = subprocess.Popen(command, stdout=output, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        cpu: dict[int, float] = {}
        while started.poll() is None:
            cpu.update(cpu_of(started.pid))
            sleep(0.02)
        wall = perf_counter() - start
        if started.returncode:
            raise RuntimeError(f"{command} ended with {started.returncode}")
        output.seek(0)
        return Figures(wall, list(cpu.values()), json.load(output)["summary"])


def cpu_of(pid: int) -> dict[int, float]:
    """Seconds of CPU of a process and of its children, by process id, as far as they still run."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    found = {}
    for number in (pid, *map(int, children)):
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def largest_process_mib(folder: Path) -> float:
    """Largest resident size of any process of a run of its own, in MiB."""
    code = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); " \
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"  # fmt: skip
    command = [sys.executable, "-c", code, str(COMMAND), "validate", "--format", "json", str(folder)]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cores = os.sched_getaffinity(0)
    seen: dict[str, list[Figures]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder, small = Path(name, "all"), Path(name, "tenth")
        folder.mkdir()
        small.mkdir()
        size = write_files(folder, options.files)
        write_files(small, max(1, options.files // 10))

        def timed(title: str, on: set[int]) -> Callable[[], float]:
            def call() -> float:
                figures = run(folder, on)
                seen.setdefault(title, []).append(figures)
                return figures.wall

            return call

        names = {"one core": timed("one core", {min(cores)}), "all cores": timed("all cores", cores)}
        seconds = interleave(names, options.rounds)
        memory = {title: largest_process_mib(place) for title, place in (("all", folder), ("a tenth", small))}
    best = min(seen["all cores"], key=lambda figures: figures.wall)
    print(f"{options.files:,} files, {size / 1e6:.1f} MB, {len(cores)} cores: {best.summary}")
    print_table(seconds)
    own, *workers = best.cpu
    print(f"files per second, best: {options.files / best.wall:.0f}; load of the machine: {os.getloadavg()[0]:.1f}")
    print(f"CPU seconds: {own:.2f} of the command, {', '.join(f'{cpu:.2f}' for cpu in workers)} of its workers")
    print(f"largest process: {memory['all']:.0f} MiB; with a tenth of the files {memory['a tenth']:.0f} MiB")
    print_goal("all cores / one core", ratio(seconds, "all cores", "one core"), 0.75)
    print_goal("busiest process, of all CPU", max(best.cpu) / sum(best.cpu), 1.2 / max(1, len(cores)))
    print_goal("memory, all / a tenth", memory["all"] / memory["a tenth"], 1.3)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
