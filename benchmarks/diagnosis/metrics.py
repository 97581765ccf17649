"""Signals side by side with rldoctor and runmedic on rldoctor's simulated runs, and how long each takes.

python benchmarks/diagnosis/metrics.py [--python FILE] [--seeds N] [--json]

--python: an interpreter that has `rldoctor` and `runmedic` installed (`pip install rldoctor==0.2.0 runmedic==0.1.0`);
they are no dependency of this project, and without them there is nothing to compare with. Each run is written as the
JSONL that the three tools read. A run counts as found when a signal of the expected kind is warning or error, and as
crying wolf when there are more than five such signals. The healthy run must stay silent.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpo_guard.diagnosis.signals import detect
from grpo_guard.logs import read_logs

MOST_SIGNALS = 5
LONG = 5_000  # steps of the run that is timed
# What each simulated run is made to show, as our signals name it.
EXPECTED = {
    "healthy": set[str](),
    "entropy_collapse": {"entropy_collapse"},
    "saturated_groups": {"groups_too_easy"},
    "too_hard": {"groups_too_hard"},
    "reward_hacking": {"reward_eval_split"},
    "length_hacking": {"length_growth", "reward_eval_split"},
    "truncation": {"length_cap_rising", "length_at_cap"},
    "kl_blowup": {"kl_growth"},
    "clip_saturation": {"clip_saturated"},
    "grad_spikes": {"grad_norm_spikes"},
    "plateau": {"reward_plateau"},
    "format_domination": {"component_dominates"},
}
# The same as rldoctor names its detectors (its simulate.py says which one a run is made for).
EXPECTED_RLDOCTOR = {
    "healthy": set[str](),
    "entropy_collapse": {"entropy_collapse"},
    "saturated_groups": {"advantage_collapse"},
    "too_hard": {"advantage_collapse"},
    "reward_hacking": {"reward_hacking"},
    "length_hacking": {"length_pathology"},
    "truncation": {"length_pathology"},
    "kl_blowup": {"kl_drift"},
    "clip_saturation": {"clip_saturation"},
    "grad_spikes": {"gradient_pathology"},
    "plateau": {"plateau"},
    "format_domination": {"reward_composition"},
}
_SIMULATE = """
import json, sys
from rl_doctor.simulate import simulate
for line in sys.stdin:
    name, seed, steps, path = line.rstrip("\\n").split("\\t")
    records, _ = simulate(name, n_steps=int(steps), seed=int(seed))
    with open(path, "w") as file:
        file.writelines(json.dumps(record) + "\\n" for record in records)
"""
_RLDOCTOR = "import sys; from rl_doctor.cli import main; sys.exit(main())"
_OURS = "import sys; from grpo_guard.cli import main; sys.exit(main())"


def simulate(python: str, jobs: Sequence[tuple[str, int, int, Path]]) -> None:
    """Write rldoctor's runs. Raises CalledProcessError when the interpreter has no rldoctor."""
    lines = "".join(f"{name}\t{seed}\t{steps}\t{path}\n" for name, seed, steps, path in jobs)
    subprocess.run([python, "-c", _SIMULATE], input=lines, text=True, check=True, capture_output=True)


def ours(path: Path) -> list[str]:
    return [row.id for row in detect(read_logs([path])) if row.severity != "info"]


def rldoctor(python: str, path: Path) -> list[str]:
    done = _run([python, "-c", _RLDOCTOR, "diagnose", str(path), "--format", "json"])
    return [row["detector"] for row in done["findings"] if row["severity"] in ("WARNING", "CRITICAL")]


def runmedic(python: str, path: Path) -> list[str]:
    done = _run([python, "-m", "runmedic", "diagnose", str(path), "--json"])
    runs = done if isinstance(done, list) else done.get("runs", [done])
    found = [row for run in runs for row in run.get("findings", [])]
    return [row.get("check") or row.get("id", "") for row in found if row["severity"] in ("warning", "critical")]


def _run(command: Sequence[str]) -> Any:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    start = min((place for sign in "{[" if (place := done.stdout.find(sign)) >= 0), default=0)
    try:
        return json.loads(done.stdout[start:])
    except ValueError:
        raise SystemExit(f"{' '.join(command[:4])}: {done.stderr[-300:] or done.stdout[-300:]}") from None


def seconds(command: Sequence[str], rounds: int = 3) -> float:
    """The best of a few whole processes."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False)
        best = min(best, time.perf_counter() - start)
    return best


def accuracy(
    found: dict[tuple[str, int], list[str]], others: dict[tuple[str, int], tuple[list[str], list[str]]], seeds: int
) -> None:
    """Per run and tool: in how many seeds it was found (the healthy one: was silent), and most signals in one seed.

    runmedic has no kinds of its own for these runs: any finding counts as found.
    """
    print(f"{'found, of ' + str(seeds) + ' seeds':20} {'grpo-guard':>16} {'rldoctor':>16} {'runmedic':>16}")
    totals = [0, 0, 0]
    for name in EXPECTED:
        cells = []
        for tool in range(3):
            rows = [found[name, seed] if tool == 0 else others[name, seed][tool - 1] for seed in range(seeds)]
            wanted = (EXPECTED[name], EXPECTED_RLDOCTOR[name], None)[tool]
            right = sum(_right(row, name, wanted) for row in rows)
            totals[tool] += right
            cells.append(f"{right} (most {max(map(len, rows))})")
        print(f"{name:20} " + " ".join(f"{cell:>16}" for cell in cells))
    runs = seeds * len(EXPECTED)
    print(f"{'all':20} " + " ".join(f"{f'{total} of {runs}':>16}" for total in totals) + "\n")


def _right(row: Sequence[str], name: str, wanted: set[str] | None) -> bool:
    if name == "healthy":
        return not row
    return bool(row) if wanted is None else bool(wanted & set(row))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        jobs = [
            (name, seed, 400, folder / f"{name}-{seed}.jsonl") for name in EXPECTED for seed in range(options.seeds)
        ]
        long = folder / "long.jsonl"
        try:
            simulate(options.python, [*jobs, ("healthy", 0, LONG, long)])
        except (OSError, subprocess.CalledProcessError):
            print(f"{options.python} has no rldoctor: pip install rldoctor==0.2.0 runmedic==0.1.0, or give --python")
            return 2
        found = {(name, seed): ours(path) for name, seed, _, path in jobs}
        others = {
            (name, seed): (rldoctor(options.python, path), runmedic(options.python, path))
            for name, seed, _, path in jobs
        }
        times = {
            "grpo-guard": seconds([sys.executable, "-c", _OURS, "diagnose", "--log", str(long)]),
            "rldoctor": seconds([options.python, "-c", _RLDOCTOR, "diagnose", str(long)]),
            "runmedic": seconds([options.python, "-m", "runmedic", "diagnose", str(long)]),
        }
    return report(found, others, times, options)


def report(
    found: dict[tuple[str, int], list[str]],
    others: dict[tuple[str, int], tuple[list[str], list[str]]],
    times: dict[str, float],
    options: argparse.Namespace,
) -> int:
    """Print the comparison; 1 when a run is missed, cries wolf or should have been silent."""
    faults = []
    for (name, seed), names in found.items():
        right = (not names) if name == "healthy" else bool(EXPECTED[name] & set(names))
        if not right or len(names) > MOST_SIGNALS:
            faults.append(f"{name} seed {seed}: {', '.join(names) or 'nothing'}")
    if options.json:
        rows = {f"{name}-{seed}": names for (name, seed), names in found.items()}
        told = {f"{name}-{seed}": row for (name, seed), row in others.items()}
        print(json.dumps({"ours": rows, "others": told, "seconds": times, "faults": faults}))
        return 1 if faults else 0
    print(f"{'run':20} {'grpo-guard':45} {'rldoctor':45} runmedic")
    for name in EXPECTED:
        doctor, medic = others[name, 0]
        print(
            f"{name:20} {', '.join(found[name, 0]) or '-':45} {', '.join(doctor) or '-':45} {', '.join(medic) or '-'}"
        )
    print()
    accuracy(found, others, options.seeds)
    total, wrong = len(found), len(faults)
    print(f"\n{total - wrong} of {total} runs ({options.seeds} seeds each) answered as expected")
    print("".join(f"  {line}\n" for line in faults), end="")
    print(f"{LONG:,} steps, whole process: " + ", ".join(f"{name} {value:.2f} s" for name, value in times.items()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
