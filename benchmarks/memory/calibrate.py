"""Our memory terms beside published figures: prints the table, or checks that the committed one is fresh.

python benchmarks/memory/calibrate.py            print it
python benchmarks/memory/calibrate.py --write    write benchmarks/memory/table.md
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import yaml

from grpo_guard.memory import phases, terms, zero
from grpo_guard.memory.cards import card
from grpo_guard.memory.plan import Plan, Rollout, Trainer
from grpo_guard.memory.shapes import Shape, known_shape

HERE = Path(__file__).parent
UNITS = {"GB": 1e9, "GiB": 1024**3, "MiB": 1024**2}
GOAL_MEAN, GOAL_WORST = 0.10, 0.25


@dataclass(frozen=True)
class Row:
    id: str
    what: str
    figure: float
    ours: float
    unit: str
    measured: bool
    source: str
    reason: str

    @property
    def error(self) -> float:
        return self.ours / self.figure - 1


def rows() -> list[Row]:
    """Every published figure with ours."""
    entries: list[dict[str, Any]] = yaml.safe_load((HERE / "measurements.yaml").read_text(encoding="utf-8"))
    return [
        Row(
            entry["id"],
            entry["what"],
            float(entry["figure"]),
            KINDS[entry["kind"]](**entry["with"]) / UNITS[entry["unit"]],
            entry["unit"],
            entry["measured"],
            entry["source"],
            entry.get("reason", ""),
        )
        for entry in entries
    ]


def _shape(model: str) -> Shape:
    shape = known_shape(model)
    if shape is None:
        raise SystemExit(f"measurements.yaml: unknown model {model}")
    return shape


def _plan(model: str, trainer: dict[str, Any]) -> Plan:
    return Plan(_shape(model), card("a100-80gb"), "", Trainer(**trainer), Rollout(engine="none"))


def _zero(parameters: float, stage: int, ranks: int) -> float:
    return float(sum(zero.model_states(parameters, stage, ranks).values()))


def _logits(model: str, tokens: int, bytes: float) -> float:
    plan = _plan(model, {"update_tokens": tokens, "update_logits": tokens, "logit_bytes": bytes})
    return float(terms.logits(plan, gradient=True).size)


def _kv(model: str, tokens: int, tensor_parallel: int = 1) -> float:
    rollout = Rollout(engine="vllm", tensor_parallel=tensor_parallel)
    return float(tokens * terms.kv_bytes_per_token(Plan(_shape(model), card("a100-80gb"), "", Trainer(), rollout)))


def _weights(model: str, bytes: float) -> float:
    return float(terms.trainer_weights(_plan(model, {"weight_bytes": bytes})).size)


def _resident(model: str, trainer: dict[str, Any]) -> float:
    """Between micro-batches: weights, adapters, their gradients and states."""
    plan = _plan(model, trainer)
    found = (terms.trainer_weights(plan), terms.adapters(plan), terms.gradients(plan), terms.optimizer_states(plan))
    return float(sum(term.size for term in found if term is not None))


def _update(model: str, trainer: dict[str, Any]) -> float:
    """The update's peak as an allocator counts it: without contexts and fragmentation."""
    phase = next(phase for phase in phases.phases(_plan(model, trainer)) if phase.name == "update")
    return float(sum(term.size for term in phase.terms if term.name not in ("CUDA contexts", "fragmentation")))


def _product(factors: list[float]) -> float:
    return float(prod(factors))


KINDS: dict[str, Any] = {
    "zero": _zero,
    "deepspeed_page": zero.deepspeed_page,
    "logits": _logits,
    "kv": _kv,
    "weights": _weights,
    "resident": _resident,
    "update": _update,
    "product": _product,
}


def summary(found: list[Row]) -> dict[str, float]:
    """Mean and worst error, as shares, over all rows and over the measured ones."""
    measured = [abs(row.error) for row in found if row.measured]
    every = [abs(row.error) for row in found]
    return {
        "mean": sum(every) / len(every),
        "worst": max(every),
        "measured": len(measured),
        "measured_mean": sum(measured) / len(measured),
    }


def table() -> str:
    """The table as Markdown."""
    found, lines = rows(), ["# Memory figures: published and ours", ""]
    told = summary(found)
    lines += [
        f"{len(found)} figures, {told['measured']:.0f} of them measured on a GPU. Mean absolute error "
        f"{told['mean']:.1%} (measured ones {told['measured_mean']:.1%}), worst {told['worst']:.1%}; "
        f"goals {GOAL_MEAN:.0%} and {GOAL_WORST:.0%}.",
        "",
        "Made by `python benchmarks/memory/calibrate.py --write` from measurements.yaml, which has the set-ups.",
        "Measured peaks are what PyTorch's allocator reports; CUDA contexts and fragmentation are left out on both",
        "sides. The bytes per logit (14 after a 16-bit base, 16 after PEFT's k-bit preparation) were found with the",
        "help of the T4 archive, so its rows show how well the other terms fit, not a prediction of that one.",
        "",
        "| figure | published | ours | error | how | note |",
        "|---|---|---|---|---|---|",
    ]
    for row in found:
        how = "measured" if row.measured else "computed"
        lines.append(
            f"| [{row.what}]({row.source}) | {row.figure:,g} {row.unit} | {_shown(row.ours)} {row.unit} | "
            f"{row.error:+.1%} | {how} | {row.reason} |"
        )
    return "\n".join(lines) + "\n"


def _shown(size: float) -> str:
    return f"{size:,.0f}" if size >= 1000 else f"{size:.3g}" if size < 1 else f"{size:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write table.md")
    text = table()
    if parser.parse_args().write:
        (HERE / "table.md").write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
