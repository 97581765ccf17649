"""Healthy runs in the formats of eleven frameworks: `diagnose` must find nothing above info in any of them.

python benchmarks/diagnosis/healthy.py [--write FOLDER] [--json]

The runs are made from a seed. Their curves have the shapes that published healthy runs have: rewards that rise and
slow down, entropy that falls to a part of its start, lengths that shrink or grow with the reward, single outliers of
the gradient norm, scores on held-out prompts every few steps, a learning rate that warms up and decays. Between the
records stands what consoles really hold: progress bars, prefixes, warnings of libraries, a printed config.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grpo_guard.diagnosis.signals import LogSignal, detect
from grpo_guard.logs import read_logs

Row = dict[str, float]
ROUNDS = 3  # seeds per variant and format


@dataclass(frozen=True)
class Variant:
    """One kind of healthy run."""

    name: str
    steps: int = 150
    reward: tuple[float, float] = (0.2, 0.65)
    entropy: tuple[float, float] = (0.6, 0.2)
    length: tuple[float, float] = (400.0, 600.0)
    capped: tuple[float, float] = (0.02, 0.01)
    kl: float | None = 0.08
    clipped: float = 0.01
    uniform: float = 0.3
    memory: float = 50.0
    every: int = 10  # steps between held-out scores


VARIANTS = (
    Variant("grows longer", length=(600.0, 2400.0), capped=(0.05, 0.1), steps=200, reward=(0.15, 0.6)),
    Variant("gets shorter", length=(900.0, 450.0), capped=(0.35, 0.04)),
    Variant("no KL, one update per rollout", kl=None, clipped=0.0, entropy=(0.35, 0.15)),
    Variant("short", steps=18, every=6),
    Variant("very short", steps=5, every=5),
    Variant("few score", reward=(0.04, 0.3), uniform=0.45),
    Variant("negative rewards", reward=(-0.7, 0.4), entropy=(0.9, 0.35)),
    Variant("long", steps=600, reward=(0.3, 0.75), every=25, kl=0.4),
)


def rows(variant: Variant, seed: int) -> list[Row]:
    """One record per step, under plain names."""
    dice = random.Random(f"{variant.name} {seed}")
    found = []
    scale = max(abs(variant.reward[1] - variant.reward[0]), 0.1)
    for step in range(1, variant.steps + 1):
        part = step / variant.steps
        gain = (1 - math.exp(-1.6 * part)) / (1 - math.exp(-1.6))
        reward = _between(variant.reward, gain) + dice.gauss(0, 0.04 * scale)
        norm = 0.25 * math.exp(dice.gauss(0, 0.2)) * (9 if dice.random() < 0.004 else 1)
        warm = min(1.0, step / max(1, variant.steps // 20))
        found.append({
            "step": step,
            "reward": reward,
            "reward_std": 0.42 + dice.gauss(0, 0.02),
            "high": max(1.0, variant.reward[1] + 0.1),
            "low": min(0.0, variant.reward[0] - 0.3),
            "uniform": min(1.0, max(0.0, variant.uniform + 0.1 * part + dice.gauss(0, 0.05))),
            "entropy": max(0.01, _between(variant.entropy, 1 - math.exp(-2 * part)) + dice.gauss(0, 0.01)),
            "kl": max(0.0, variant.kl * (1 - math.exp(-2 * part)) + dice.gauss(0, 0.002)) if variant.kl else 0.0,
            "clipped": max(0.0, variant.clipped * (1 + dice.gauss(0, 0.2))),
            "loss": dice.gauss(0, 0.01) if variant.clipped else dice.gauss(0, 1e-6),
            "norm": norm,
            "length": _between(variant.length, gain) * math.exp(dice.gauss(0, 0.04)),
            "capped": min(1.0, max(0.0, _between(variant.capped, part) + dice.gauss(0, 0.005))),
            "rate": 1e-6 * warm * (1 - part),
            "gap": 0.0025 * math.exp(dice.gauss(0, 0.15)),
            "seconds": (40 + 0.03 * _between(variant.length, gain)) * math.exp(dice.gauss(0, 0.05)),
            "memory": variant.memory + min(2.0, 0.1 * step) + (0.5 if part > 0.3 else 0.0),
            "host": 210 + 4 * math.sin(step),
            "advantage": dice.gauss(0, 0.01),
        })  # fmt: skip
        if step % variant.every == 0 or step == 1:
            found[-1]["eval"] = _between(variant.reward, 0.9 * gain) - 0.02 + dice.gauss(0, 0.02 * scale)
    return found


def _between(ends: tuple[float, float], part: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * part


# Writers: the records as a framework writes them.

_NOISE = (
    "(TaskRunner pid=4242) WARNING 08-20 10:11:12 [sampler.py:61] top_k is not set, using the default",
    "(WorkerDict pid=4711) INFO 08-20 10:11:13 [gpu_model_runner.py:55] Loading weights took 3.21 seconds",
    "\x1b[36m(pid=4243)\x1b[0m /usr/lib/python3/site.py:11: UserWarning: lr_scheduler.step() before optimizer.step()",
    "Processed prompts: 100%|██████████| 512/512 [00:31<00:00, 16.3it/s, est. speed input: 900.0 toks/s]",
    '127.0.0.1:5000 - "POST /generate HTTP/1.1" 200 OK',
    "[2026-08-20 10:11:14] no errors found in 128 samples; 0 failed, 0 timed out",
    "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated",
    "Exception ignored in: <function Pool.__del__ at 0x7f>\nTraceback (most recent call last):\n"
    '  File "/usr/lib/python3/pool.py", line 268, in __del__\nResourceWarning: unclosed pool',
)


def _noise(dice: random.Random) -> Iterator[str]:
    while dice.random() < 0.6:
        yield dice.choice(_NOISE)


def _verl(row: Row) -> Row:
    named = {
        "actor/entropy": row["entropy"], "actor/pg_loss": row["loss"], "actor/pg_clipfrac": row["clipped"],
        "actor/ppo_kl": row["loss"] / 50, "actor/pg_clipfrac_lower": 0.0, "actor/grad_norm": row["norm"],
        "actor/lr": row["rate"], "actor/kl_loss": row["kl"], "training/global_step": row["step"], "training/epoch": 0,
        "training/rollout_probs_diff_mean": row["gap"], "training/rollout_probs_diff_max": 0.4 + row["gap"],
        "training/rollout_actor_probs_pearson_corr": 1 - row["gap"] / 5,
        "critic/score/mean": row["reward"], "critic/score/max": row["high"], "critic/score/min": row["low"],
        "critic/rewards/mean": row["reward"], "critic/rewards/max": row["high"], "critic/rewards/min": row["low"],
        "critic/advantages/mean": row["advantage"], "critic/advantages/max": 2.47, "critic/advantages/min": -2.47,
        "response_length/mean": row["length"], "response_length/max": 4096.0, "response_length/min": 32.0,
        "response_length/clip_ratio": row["capped"], "prompt_length/mean": 120.0, "prompt_length/clip_ratio": 0.0,
        "timing_s/gen": row["seconds"] / 2, "timing_s/update_actor": row["seconds"] / 4,
        "perf/time_per_step": row["seconds"], "perf/throughput": 90000 / row["seconds"],
        "perf/max_memory_allocated_gb": row["memory"], "perf/max_memory_reserved_gb": row["memory"] + 9,
        "perf/cpu_memory_used_gb": row["host"],
    }  # fmt: skip
    return named | ({"val-core/openai/gsm8k/acc/mean@1": row["eval"]} if "eval" in row else {})


_VERL_CONFIG = """(TaskRunner pid=4242) {'actor_rollout_ref': {'actor': {'clip_ratio': 0.2,
(TaskRunner pid=4242)                                  'grad_clip': 1.0,
(TaskRunner pid=4242)                                  'optim': {'lr': 1e-06}},
(TaskRunner pid=4242)                        'rollout': {'n': 8, 'temperature': 1.0}},
(TaskRunner pid=4242)  'trainer': {'n_gpus_per_node': 8, 'nnodes': 1}}"""


def verl_console(runs: list[Row], dice: random.Random) -> str:
    lines = [_VERL_CONFIG]
    for row in runs:
        lines += _noise(dice)
        step = int(row["step"])
        bar = f"Training Progress:  {step * 100 // len(runs)}%|▌ | {step}/{len(runs)} [01:02<03:04]"
        named = " - ".join(f"{name}:{_wrapped(value, dice)}" for name, value in _verl(row).items())
        lines.append(f"(TaskRunner pid=4242) {bar}\r(TaskRunner pid=4242) step:{step} - {named}")
    return "\n".join(lines) + "\n"


def _wrapped(value: float, dice: random.Random) -> str:
    return f"np.float64({value!r})" if dice.random() < 0.2 else repr(value)


def verl_file(runs: list[Row], dice: random.Random) -> str:
    return "".join(json.dumps({"step": int(row["step"]), "data": _verl(row)}) + "\n" for row in runs)


def _trl(row: Row, beta: bool) -> Row:
    named = {
        "loss": row["loss"], "grad_norm": row["norm"], "learning_rate": row["rate"], "num_tokens": row["step"] * 1e5,
        "completions/mean_length": row["length"], "completions/min_length": 20.0, "completions/max_length": 4096.0,
        "completions/clipped_ratio": row["capped"], "completions/mean_terminated_length": row["length"] * 0.97,
        "rewards/accuracy_reward/mean": row["reward"] * 0.8, "rewards/accuracy_reward/std": 0.4,
        "rewards/format_reward/mean": row["reward"] * 0.2 + 0.01, "rewards/format_reward/std": 0.1,
        "reward": row["reward"], "reward_std": row["reward_std"], "frac_reward_zero_std": row["uniform"],
        "sampling/sampling_logp_difference/mean": row["gap"] * 4, "sampling/importance_sampling_ratio/mean": 1.0,
        "entropy": row["entropy"], "clip_ratio/low_mean": row["clipped"] / 2,
        "clip_ratio/high_mean": row["clipped"] / 2, "clip_ratio/region_mean": row["clipped"],
        "step_time": row["seconds"], "epoch": row["step"] / 100,
    }  # fmt: skip
    return named | ({"kl": row["kl"]} if beta else {})


def trl_console(runs: list[Row], dice: random.Random) -> str:
    beta = any(row["kl"] for row in runs)
    lines: list[str] = []
    for row in runs:
        lines += _noise(dice)
        lines.append(f"  {int(row['step'])}%|█▎        | {int(row['step'])}/{len(runs)} [00:10<01:00,  2.10s/it]\r")
        quoted = dice.random() < 0.5  # transformers 5 prints numbers as text
        lines.append(str({name: f"{value:.4g}" if quoted else value for name, value in _trl(row, beta).items()}))
        if "eval" in row:
            lines.append(str({"eval_loss": 0.0, "eval_reward": row["eval"], "eval_runtime": 12.0, "epoch": 0.1}))
    return "\n".join(lines) + "\n"


def trainer_state(runs: list[Row], dice: random.Random) -> str:
    beta = any(row["kl"] for row in runs)
    history: list[Row] = []
    for row in runs:
        history.append({**_trl(row, beta), "step": row["step"]})
        if "eval" in row:
            history.append({"eval_reward": row["eval"], "eval_entropy": 0.3, "epoch": 0.1, "step": row["step"]})
    return json.dumps({"best_metric": None, "global_step": len(runs), "log_history": history}, indent=2)


def openrlhf(runs: list[Row], dice: random.Random) -> str:
    lines: list[str] = []
    for row in runs:
        lines += _noise(dice)
        status = {
            "policy_loss": row["loss"], "actor_lr": row["rate"], "actor_grad_norm": row["norm"], "kl": row["kl"],
            "entropy_loss": row["entropy"], "vllm_kl": row["gap"] / 10, "ppo_clip_ratio": row["clipped"],
            "reward": row["reward"], "group_reward_std": 0.3, "response_length": row["length"],
            "rollout/reward_mean": row["reward"], "rollout/response_length_mean": row["length"],
            "rollout/truncated_rate": row["capped"], "timing/generation": 20.0, "timing/step_total": row["seconds"],
        }  # fmt: skip
        lines.append(f"INFO 08-20 10:11:12 ppo_trainer.py:547] ✨ Global step {int(row['step'])}: {status}")
        if "eval" in row:
            lines.append(
                "INFO 08-20 ppo_trainer.py:594] ✨ Evaluation completed, "
                f"eval_metrics: {{'eval_math_pass1': {row['eval']}, 'eval_response_length_mean': {row['length']}}}"
            )
    return "\n".join(lines) + "\n"


def slime(runs: list[Row], dice: random.Random) -> str:
    lines: list[str] = []
    for row in runs:
        step = int(row["step"]) - 1
        rollout = {"rollout/response_len/mean": row["length"], "rollout/truncated_ratio": row["capped"]}
        data = {"rollout/raw_reward": row["reward"], "rollout/rewards": row["advantage"], "rollout/advantages": 0.0}
        train = {
            "train/loss": row["loss"], "train/pg_loss": row["loss"], "train/entropy_loss": row["entropy"],
            "train/pg_clipfrac": row["clipped"], "train/ppo_kl": 1e-5, "train/kl_loss": row["kl"],
            "train/train_rollout_logprob_abs_diff": row["gap"] * 4, "train/grad_norm": row["norm"], "train/step": step,
        }  # fmt: skip
        lines += [
            f"[2026-08-20 10:11:12] perf {step}: {rollout}",
            f"(Actor pid=99) rollout {step}: {data}",
            *_noise(dice),
        ]
        lines.append(f"(MegatronTrainRayActor pid=100) [2026-08-20 10:11:12] model.py:918 - step {step}: {train}")
    return "\n".join(lines) + "\n"


def nemo_rl(runs: list[Row], dice: random.Random) -> str:
    lines: list[str] = []
    for row in runs:
        lines += [
            f"========================= Step {int(row['step'])}/{len(runs)} =========================",
            *_noise(dice),
        ]
        lines += [
            "▶ Training policy...", "", "📊 Training Results:", f"  • Loss: {row['loss']:.4f}",
            f"  • Generation KL Error: {row['gap'] / 10:.4f}", f"  • Avg Reward: {row['reward']:.4f}",
            f"  • Mean Generation Length: {row['length']:.4f}", "", "⏱️  Timing:",
            f"  • Total step time: {row['seconds']:.2f}s", "  • policy_training: 9.10s (20.1%)",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def skyrl(runs: list[Row], dice: random.Random) -> str:
    lines: list[str] = []
    for row in runs:
        record = {
            "trainer/global_step": int(row["step"]), "reward/avg_raw_reward": row["reward"],
            "policy/policy_entropy": row["entropy"], "policy/grad_norm": row["norm"], "policy/policy_kl": row["kl"],
            "policy/policy_loss": row["loss"], "generate/avg_num_tokens": row["length"], "timing/step": row["seconds"],
            "policy/rollout_train_logprobs_abs_diff_mean": row["gap"] * 4, "loss/avg_raw_advantages_abs": 0.6,
        }  # fmt: skip
        lines.append(json.dumps(record | ({"eval/all/avg_score": row["eval"]} if "eval" in row else {})))
    return "\n".join(lines) + "\n"


def megatron(runs: list[Row], dice: random.Random) -> str:
    lines: list[str] = []
    for row in runs:
        lines += _noise(dice)
        lines.append(
            f" [2026-08-20 10:11:12.123456] iteration {int(row['step']):8d}/{len(runs):8d} |"
            f" consumed samples: {int(row['step']) * 64:12d} |"
            f" elapsed time per iteration (ms): {row['seconds'] * 1000:.1f} | learning rate: {row['rate']:.6E} |"
            f" global batch size:    64 | lm loss: {2 + row['entropy']:.6E} | loss scale: 1.0 |"
            f" grad norm: {row['norm']:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
    return "\n".join(lines) + "\n"


def deepspeed(runs: list[Row], dice: random.Random) -> str:
    lines = ["[2026-08-20 10:11:12,000] [INFO] [logging.py:107:log_dist] [Rank 0] DeepSpeed info: version=0.19.5"]
    for row in runs:
        step, head = int(row["step"]), "[2026-08-20 10:11:12,000] [INFO] [logging.py:107:log_dist] [Rank 0]"
        if step in (1, 2):  # the scale finds its level
            lines.append(
                f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {65536 >> step},"
                f" reducing to {32768 >> step}"
            )
        lines.append(f"{head} step={step}, skipped=2, lr=[{row['rate']}], mom=[(0.9, 0.95)]")
        lines.append(
            f"{head} epoch=0/micro_step={step * 4}/global_step={step}, RunningAvgSamplesPerSec=3.1, "
            f"CurrSamplesPerSec=3.2, MemAllocated=20.1GB, MaxMemAllocated={row['memory']:.2f}GB"
        )
        lines.append(
            str({"loss": row["loss"], "grad_norm": row["norm"], "reward": row["reward"], "kl": row["kl"], "epoch": 0.1})
        )
    return "\n".join(lines) + "\n"


def prime_rl(runs: list[Row], dice: random.Random) -> str:
    lines: list[str] = []
    for row in runs:
        lines.append(
            f"10:11:12 SUCCESS Step {int(row['step'])} |  {row['seconds']:.2f}s | Loss {row['loss']:.4f} |"
            f" Entropy {row['entropy']:.4f} | Mismatch KL {row['gap'] / 10:.4f} | Grad. Norm {row['norm']:.4f} |"
            f" LR {row['rate']:.2e} |"
            f" Throughput 5000 tokens/s | MFU 31.0% | Peak Mem. {row['memory']:.1f} GiB"
        )
        lines.append(
            f"10:11:12 SUCCESS Step {int(row['step'])} |  {row['seconds']:.2f}s | Reward {row['reward']:.4f} |"
            f" Truncation {row['capped']:.1%}"
        )
    return "\n".join(lines) + "\n"


def easyr1(runs: list[Row], dice: random.Random) -> str:
    lines = ["Config", "actor:", "  clip_ratio_high: 0.3", ""]
    for row in runs:
        lines += [
            f"Step {int(row['step'])}", "actor:", f"  entropy_loss: {row['entropy']}", f"  grad_norm: {row['norm']}",
            f"  kl_loss: {row['kl']}", f"  lr: {row['rate']}", f"  pg_clipfrac_higher: {row['clipped']}",
            "critic:", "  rewards:",
            f"    max: {row['high']}", f"    mean: {row['reward']}", f"    min: {row['low']}", "response_length:",
            f"  clip_ratio: {row['capped']}", f"  mean: {row['length']}", "reward:",
            f"  accuracy: {row['reward'] * 0.9}",
            f"  format: {0.9 + row['advantage']}", f"  overall: {row['reward']}", "",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def table(runs: list[Row], dice: random.Random) -> str:
    """A chart export: the run's name before each column, minimum and maximum beside, empty cells between."""
    names = [
        "actor/entropy",
        "actor/grad_norm",
        "critic/rewards/mean",
        "response_length/mean",
        "val-core/math/acc/mean@1",
    ]
    columns = [f'"run-7 - {name}{side}"' for name in names for side in ("", "__MIN", "__MAX")]
    lines = [",".join(['"Step"', *columns])]
    for row in runs:
        values = [row["entropy"], row["norm"], row["reward"], row["length"], row.get("eval", "")]
        lines.append(",".join([str(int(row["step"])), *(str(value) for value in values for _ in range(3))]))
    return "\n".join(lines) + "\n"


def tensorboard(runs: list[Row], dice: random.Random) -> bytes:
    return b"".join(
        _record(_event(int(row["step"]), name, value)) for row in runs for name, value in _verl(row).items()
    )


def _record(message: bytes) -> bytes:
    return struct.pack("<QI", len(message), 0) + message + struct.pack("<I", 0)  # checksums are not looked at


def _event(step: int, tag: str, value: float) -> bytes:
    name = tag.encode()
    scalar = b"\x0a" + _varint(len(name)) + name + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + _varint(len(scalar)) + scalar
    return b"\x09" + struct.pack("<d", 1.7e9) + b"\x10" + _varint(step) + b"\x2a" + _varint(len(summary)) + summary


def _varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


Writer = Callable[[list[Row], random.Random], str | bytes]
WRITERS: dict[str, tuple[Writer, str]] = {
    "verl-console": (verl_console, "log"),
    "verl-file": (verl_file, "jsonl"),
    "trl-console": (trl_console, "log"),
    "trainer-state": (trainer_state, "json"),
    "openrlhf": (openrlhf, "log"),
    "slime": (slime, "log"),
    "nemo-rl": (nemo_rl, "log"),
    "skyrl": (skyrl, "jsonl"),
    "megatron": (megatron, "log"),
    "deepspeed": (deepspeed, "log"),
    "prime-rl": (prime_rl, "log"),
    "easyr1": (easyr1, "log"),
    "csv": (table, "csv"),
    "tensorboard": (tensorboard, "tfevents"),
}


@dataclass(slots=True)
class Outcome:
    name: str
    rows: int
    loud: list[LogSignal] = field(default_factory=list)


def healthy_runs(folder: Path, rounds: int = ROUNDS) -> Iterator[tuple[str, Path]]:
    """Write every variant in every format; yields a name and the file."""
    for variant in VARIANTS:
        for kind, (writer, suffix) in WRITERS.items():
            for seed in range(rounds):
                path = folder / f"{variant.name.replace(' ', '-').replace(',', '')}.{kind}.{seed}.{suffix}"
                written = writer(rows(variant, seed), random.Random(seed))
                path.write_bytes(written.encode() if isinstance(written, str) else written)
                yield f"{variant.name} / {kind} / seed {seed}", path


def outcomes(folder: Path, rounds: int = ROUNDS) -> list[Outcome]:
    """What is said about each run above info."""
    found = []
    for name, path in healthy_runs(folder, rounds):
        reading = read_logs([path])
        loud = [row for row in detect(reading) if row.severity != "info"]
        found.append(Outcome(name, sum(source.rows for source in reading.sources), loud))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="keep the runs in this folder")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.write or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        found = outcomes(folder, options.rounds)
    unread = [row.name for row in found if not row.rows]
    loud = [row for row in found if row.loud]
    result = {"runs": len(found), "silent": len(found) - len(loud), "not read": unread}
    if options.json:
        print(json.dumps(result | {"loud": {row.name: [signal.id for signal in row.loud] for row in loud}}))
    else:
        print(f"{result['silent']} of {result['runs']} healthy runs are silent; {len(unread)} could not be read")
        for row in loud:
            for signal in row.loud:
                print(f"  {row.name}: {signal.severity} {signal.id}: {signal.evidence}")
    return 1 if loud or unread else 0


if __name__ == "__main__":
    sys.exit(main())
