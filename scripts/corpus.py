"""Measure the readers and the rules on launch scripts and configs of public repositories.

The corpus is a folder outside this repository (docs/corpus.md says how one is made):
  index.json   [{repo, commit, path, kind, held_out?}]
  truth.json   {"repo/path": [{argv, line, launch, nested?, lenient?}]}, the argument vectors that bash itself produced
  trees/       the files, one folder per repository ("owner+name" or "owner+name@tag")

    python scripts/corpus.py CORPUS                          reader and rules over everything
    python scripts/corpus.py CORPUS --only reader            the shell reader against bash
    python scripts/corpus.py CORPUS --kind verl-shell --findings-json new.json --compare old.json
    python scripts/corpus.py CORPUS --write-docs             also rewrite docs/corpus.md and docs/corpus-index.tsv
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from grpo_guard.configs.values import InputError, Script

DOCS = Path(__file__).resolve().parent.parent / "docs"
SECONDS_PER_FILE = 20  # a file that takes longer counts as a hang
BASH_ROOT = "/repo"  # where the tree was when bash ran the scripts; `$0` was relative to it
HOME = "/@HOME@"
SHELL_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch", ".sub", ".env")
NO_LAUNCH = "shell-other"  # shell files that start nothing: read for crashes, not listed in the docs
LEVELS = ("error", "warning", "info")
# Versions that a snapshot states outside the files kept here (its version file, or what its setup pins). A checkout of
# verl says its own; recipes and DeepSpeedExamples name no version.
VERSIONS = {
    "verl-project/verl@v0.5.0": {"verl": "0.5.0"},
    "verl-project/verl@v0.3.0.post1": {"verl": "0.3.0.post1"},
    "NVIDIA/Megatron-LM": {"megatron-core": "0.20.0.dev20260822"},
    "NVIDIA-NeMo/Megatron-Bridge": {"megatron-bridge": "0.6.0"},
    "OpenRLHF/OpenRLHF": {"openrlhf": "0.11.0"},
    "THUDM/slime": {"slime": "0.3.2.dev20260821"},
    "deepspeedai/DeepSpeed": {"deepspeed": "0.19.6"},
    "axolotl-ai-cloud/axolotl": {"axolotl": "0.18.0"},
    "hiyouga/EasyR1": {"easyr1": "0.3.3.dev0"},
    "hiyouga/LlamaFactory": {"llamafactory": "0.9.6.dev0"},
    "huggingface/accelerate": {"accelerate": "1.15.0.dev0"},
    "huggingface/open-r1": {"accelerate": "1.4.0", "deepspeed": "0.16.8", "transformers": "4.52.3", "trl": "0.18.0"},
    "huggingface/trl": {"trl": "1.10.0.dev0"},
    "modelscope/ms-swift": {"ms-swift": "4.6.0.dev0"},
    "rllm-org/rllm": {"rllm": "0.3.0.pre0.post20260815", "verl": "0.8.0"},
}
# Repositories that publish the framework or its recipes; their files count as official examples
OFFICIAL = {
    "verl": ("verl-project/", "volcengine/"),
    "rllm": ("rllm-org/",),
    "easyr1": ("hiyouga/",),
    "ms-swift": ("modelscope/",),
    "llama-factory": ("hiyouga/",),
    "axolotl": ("axolotl-ai-cloud/",),
    "trl": ("huggingface/",),
    "openrlhf": ("OpenRLHF/",),
    "deepspeed": ("deepspeedai/",),
    "accelerate": ("huggingface/",),
    "nemo-rl": ("NVIDIA-NeMo/",),
    "skyrl": ("NovaSky-AI/",),
    "areal": ("areal-project/",),
    "megatron": ("NVIDIA/",),
    "megatron-bridge": ("NVIDIA-NeMo/",),
    "slime": ("THUDM/",),
}
OFTEN = 0.05  # a rule that fires on more of a framework's official examples is looked at
# The settings a user asks about first, by the names they have in each framework
ASKED: dict[str, dict[str, tuple[str, ...]]] = {
    "verl-shell": {
        "adv_estimator": ("algorithm.adv_estimator",),
        "rollout.n": ("actor_rollout_ref.rollout.n",),
        "model path": ("actor_rollout_ref.model.path",),
        "GPUs per node": ("trainer.n_gpus_per_node",),
        "nnodes": ("trainer.nnodes",),
        "LoRA rank": ("actor_rollout_ref.model.lora_rank", "actor_rollout_ref.model.lora.rank"),
    },
    "rllm-shell": {
        "adv_estimator": ("algorithm.adv_estimator", "rllm.algorithm.adv_estimator"),
        "rollout.n": ("actor_rollout_ref.rollout.n", "rllm.rollout.n", "training.group_size"),
        "model path": ("actor_rollout_ref.model.path", "model.name"),
        "GPUs per node": ("trainer.n_gpus_per_node",),
        "nnodes": ("trainer.nnodes",),
        "LoRA rank": ("actor_rollout_ref.model.lora.rank", "actor_rollout_ref.model.lora_rank", "model.lora_rank"),
    },
    "easyr1-shell": {
        "adv_estimator": ("algorithm.adv_estimator",),
        "rollout.n": ("worker.rollout.n",),
        "model path": ("worker.actor.model.model_path",),
        "GPUs per node": ("trainer.n_gpus_per_node",),
        "nnodes": ("trainer.nnodes",),
        "LoRA rank": ("worker.actor.model.lora.rank",),
    },
    "openrlhf-shell": {
        "adv_estimator": ("--algo.advantage.estimator", "--advantage_estimator"),
        "rollout.n": ("--rollout.n_samples_per_prompt", "--n_samples_per_prompt"),
        "model path": ("--actor.model_name_or_path", "--model.model_name_or_path", "--pretrain"),
        "GPUs per node": ("--actor.num_gpus_per_node", "--actor_num_gpus_per_node"),
        "nnodes": ("--actor.num_nodes", "--actor_num_nodes"),
        "LoRA rank": ("--ds.lora.rank", "--lora_rank"),
    },
    "skyrl-shell": {
        "adv_estimator": ("trainer.algorithm.advantage_estimator",),
        "rollout.n": ("generator.n_samples_per_prompt",),
        "model path": ("trainer.policy.model.path",),
        "GPUs per node": ("trainer.placement.policy_num_gpus_per_node",),
        "nnodes": ("trainer.placement.policy_num_nodes",),
        "LoRA rank": ("trainer.policy.model.lora.rank",),
    },
    "nemo-rl-shell": {
        "rollout.n": ("grpo.num_generations_per_prompt",),
        "model path": ("policy.model_name",),
        "GPUs per node": ("cluster.gpus_per_node",),
        "nnodes": ("cluster.num_nodes",),
        "config": ("--config",),
    },
    "slime-shell": {
        "adv_estimator": ("--advantage-estimator",),
        "rollout.n": ("--n-samples-per-prompt",),
        "model path": ("--hf-checkpoint",),
        "GPUs per node": ("--actor-num-gpus-per-node",),
        "nnodes": ("--actor-num-nodes",),
    },
    "megatron-shell": {
        "GPUs per node": ("--nproc_per_node", "--nproc-per-node"),
        "global batch": ("--global-batch-size",),
        "layers": ("--num-layers",),
    },
    "swift-shell": {
        "adv_estimator": ("--rlhf_type",),
        "rollout.n": ("--num_generations",),
        "model path": ("--model",),
        "LoRA rank": ("--lora_rank",),
    },
    "deepspeed-chat-shell": {
        "model path": ("--actor_model_name_or_path", "--model_name_or_path"),
        "zero stage": ("--actor_zero_stage", "--zero_stage"),
        "LoRA rank": ("--actor_lora_dim", "--lora_dim"),
    },
}

T = TypeVar("T")


# --- the corpus ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """One file of the corpus."""

    repo: str
    commit: str
    path: str
    kind: str
    held_out: bool
    tree: Path

    @property
    def name(self) -> str:
        return f"{self.repo}/{self.path}"

    @property
    def file(self) -> Path:
        return self.tree / self.path

    @property
    def is_shell(self) -> bool:
        return self.path.endswith(SHELL_SUFFIXES)


def load_items(corpus: Path) -> list[Item]:
    rows = json.loads((corpus / "index.json").read_text(encoding="utf-8"))
    return [
        Item(
            row["repo"],
            row["commit"],
            row["path"],
            row["kind"],
            row.get("held_out", False),
            corpus / "trees" / row["repo"].replace("/", "+"),
        )
        for row in rows
    ]


def chosen(items: Iterable[Item], arguments: argparse.Namespace) -> list[Item]:
    def wanted(item: Item) -> bool:
        return (
            (not arguments.repo or item.repo in arguments.repo)
            and (not arguments.kind or item.kind in arguments.kind)
            and (arguments.held_out == "all" or item.held_out == (arguments.held_out == "only"))
        )

    return [item for item in items if wanted(item)]


class Hang(Exception):
    """A file took longer than SECONDS_PER_FILE."""


@contextmanager
def time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang(f"longer than {SECONDS_PER_FILE} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS_PER_FILE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Failures:
    """What went wrong while reading: refusals are one clear line, crashes are our faults. And what was slow."""

    refused: list[str] = field(default_factory=list)
    crashed: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def attempt(self, item: Item, work: Callable[[], T]) -> T | None:
        started = time.perf_counter()
        try:
            with time_limit():
                return work()
        except InputError as error:
            self.refused.append(f"{item.name}: {error}")
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            self.crashed.append(f"{item.name}: {type(error).__name__}: {error} ({where})")
        finally:
            self.seconds[item.name] = time.perf_counter() - started
        return None


# --- settings of a command, the same way for bash and for the reader ----------------------------------------------

_PYTHON = re.compile(r"(.*/)?python[\d.]*$")
_STARTERS = ("torchrun", "accelerate", "deepspeed")
_BARE_STARTERS = ("swift", "megatron", "trl", "vllm", "rllm", "areal")
_OVERRIDE = re.compile(r"(?:\+\+|\+|~)?([A-Za-z_][\w/@.\-]*)=(.*)$", re.DOTALL)
_FLAG = re.compile(r"(--?[A-Za-z][\w.\-]*)(?:=(.*))?$", re.DOTALL)
Token = tuple[str, bool]  # text, known


def program_tokens(tokens: Sequence[Token]) -> Sequence[Token]:
    """The command without what wraps it (uv run, ray job submit, srun, env, bash -c)."""
    texts = [text for text, _ in tokens]
    for index, text in enumerate(texts[:-1]):
        if text in ("-c", "-lc") and index and re.search(r"(^|/)(ba)?sh$", texts[index - 1]):
            return program_tokens([(word, tokens[index + 1][1]) for word in split_words(texts[index + 1])])
    for index, text in enumerate(texts):
        is_value = index > 0 and texts[index - 1].startswith("-") and texts[index - 1] != "--"  # uv run --extra vllm
        if _PYTHON.match(text) or text.rsplit("/", 1)[-1] in _STARTERS or (text in _BARE_STARTERS and not is_value):
            return tokens[index:]
        if text.endswith(".py") and not text.startswith("-") and "=" not in text:
            return tokens[index:]
        if text == "-m" and index + 1 < len(texts) and "." in texts[index + 1]:
            return tokens[index:]
    return tokens


def split_words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def settings_of(tokens: Sequence[Token]) -> dict[str, Token]:
    """Overrides and flags of a command: key → (value, known). The last one written wins."""
    found: dict[str, Token] = {}
    pending: str | None = None
    for text, known in program_tokens(tokens):
        flag = None if re.match(r"-[\d.]", text) else _FLAG.match(text)
        override = None if flag else _OVERRIDE.match(text)
        if flag:
            found[flag[1]] = (flag[2] or "", known)
            pending = None if flag[2] is not None else flag[1]
        elif override:
            found[override[1]] = (override[2], known)
            pending = None
        elif pending is not None:
            value, was_known = found[pending]
            found[pending] = (f"{value} {text}".strip(), was_known and known)
    return found


@dataclass
class Started:
    """A command, of bash or of the reader: what it starts, with which settings."""

    program: str
    line: int
    launch: bool
    settings: dict[str, Token]


def started(tokens: Sequence[Token], line: int, launch: bool) -> Started:
    words = [text for text, _ in program_tokens(tokens)]
    module = next((after for word, after in pairwise(words) if word == "-m"), "")
    script = next((word.rsplit("/", 1)[-1] for word in words if word.endswith(".py") and "=" not in word), "")
    return Started(module or script or " ".join(words[:2]), line, launch, settings_of(tokens))


def run_by_bash(records: Iterable[Mapping[str, Any]]) -> list[Started]:
    """The launches that bash made in the script itself (not in another script it called)."""
    return [
        started([(word, True) for word in record["argv"]], record["line"], True)
        for record in records
        if record.get("launch") and not record.get("nested") and record["argv"][0] not in ("bash", "sh")
    ]


# --- the shell reader against bash ---------------------------------------------------------------------------------


@dataclass
class Score:
    """Counts over the launches of which bash's own result is known."""

    files: int = 0
    truth_launches: int = 0
    found_launches: int = 0
    keys: int = 0
    found: int = 0
    equal: int = 0
    unresolved: int = 0
    extra: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    HEAD = ("files", "launches", "found", "keys", "found", "equal", "unresolved", "silently wrong", "not in bash")

    def row(self) -> list[int]:
        counts = [self.files, self.truth_launches, self.found_launches, self.keys, self.found, self.equal]
        return [*counts, self.unresolved, len(self.wrong), len(self.extra)]

    def add(self, other: Score) -> None:
        for name in ("files", "truth_launches", "found_launches", "keys", "found", "equal", "unresolved"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.extra += other.extra
        self.wrong += other.wrong
        self.missing += other.missing


def compare(name: str, truth: Sequence[Started], ours: Sequence[Started]) -> Score:
    """Each launch of bash with the command of the reader that agrees best, each of which is used once."""
    score = Score(files=1, truth_launches=len(truth), keys=sum(len(launch.settings) for launch in truth))
    left = list(ours)
    for launch in truth:
        same_program = [other for other in left if other.program == launch.program]
        match = max(same_program, key=lambda other: agreement(launch, other), default=None)
        if match is None:
            score.missing.append(f"{name}:{launch.line} {launch.program}: the command is not read")
            continue
        left.remove(match)
        score.found_launches += match.launch
        if not match.launch:
            score.missing.append(f"{name}:{launch.line} {launch.program}: read, but not as a launch")
        compare_settings(f"{name}:{launch.line}", launch.settings, match.settings, score)
    return score


def agreement(truth: Started, ours: Started) -> tuple[int, bool]:
    """How many values are equal, and whether it is the same line."""
    return sum(ours.settings.get(k, ("",))[0] == v for k, (v, _) in truth.settings.items()), truth.line == ours.line


def compare_settings(name: str, truth: dict[str, Token], ours: dict[str, Token], score: Score) -> None:
    for key, (value, _) in truth.items():
        if key not in ours:
            score.missing.append(f"{name} {key}={value}")
            continue
        score.found += 1
        read, known = ours[key]
        if not known or (HOME in value and read == value.replace(HOME, "~")):
            score.unresolved += 1
        elif read == value or read.replace(f"{BASH_ROOT}/", "") == value.replace(f"{BASH_ROOT}/", ""):
            score.equal += 1
        else:
            score.wrong.append(f"{name} {key}: bash {value!r}, read {read!r}")
    score.extra += [f"{name} {key}={ours[key][0]}" for key in ours if key not in truth]


@dataclass
class ReaderResult:
    scores: dict[str, dict[str, Score]]  # group ("plain run", "lenient run", "held out") → repo → score
    failures: Failures
    files: int
    with_launch: int
    asked: dict[tuple[str, str], Counter[str]]
    missed: list[str]  # asked settings that the text states and the reader does not give
    seconds: float


def read(item: Item) -> Script:
    from grpo_guard.configs.files import read_text
    from grpo_guard.configs.shell import read_script

    return read_script(read_text(item.file), str(item.file), root=item.tree)


def commands_of(item: Item) -> list[Started]:
    """What the reader says. Paths below the tree are told as below BASH_ROOT, where bash saw them."""

    def told(text: str) -> str:
        return text.replace(str(item.tree), BASH_ROOT)

    return [
        started([(told(word.text), word.known) for word in command.argv], command.line, command.launch)
        for command in read(item).commands
    ]


def measure_reader(items: Sequence[Item], truth: Mapping[str, list[dict[str, Any]]]) -> ReaderResult:
    result = ReaderResult(defaultdict(lambda: defaultdict(Score)), Failures(), 0, 0, defaultdict(Counter), [], 0.0)
    started = time.perf_counter()
    for item in items:
        if not item.is_shell:
            continue
        result.files += 1
        ours = result.failures.attempt(item, lambda item=item: commands_of(item))  # type: ignore[misc]
        if ours is None:
            continue
        result.with_launch += any(command.launch for command in ours)
        records = truth.get(item.name, [])
        expected = run_by_bash(records)
        if expected:
            group = "held out" if item.held_out else "plain run"
            if any(record.get("lenient") for record in records):
                group = "lenient run"
            result.scores[group][item.repo].add(compare(item.name, expected, ours))
        count_asked(item, ours, expected, result)
    result.seconds = time.perf_counter() - started
    return result


def count_asked(item: Item, ours: Sequence[Started], truth: Sequence[Started], result: ReaderResult) -> None:
    """Of the settings that the script's text states: recovered, and with a literal value.

    What bash itself does not hand to the launch (a broken continuation, a branch not taken) is counted as lost instead.
    """
    text = "\n".join(
        line
        for line in item.file.read_text(encoding="utf-8", errors="replace").splitlines()
        if not line.lstrip().startswith("#")
    )
    for setting, keys in ASKED.get(item.kind, {}).items():
        stated = [key for key in keys if re.search(rf"(?<![\w.\-]){re.escape(key)}[= \"']", text)]
        if not stated:
            continue
        settings = [command.settings for command in ours if command.launch]
        values = [found[key] for found in settings for key in stated if key in found]
        counter = result.asked[item.kind, setting]
        if truth and not values and not any(key in launch.settings for launch in truth for key in stated):
            counter["lost"] += 1
            continue
        counter["stated"] += 1
        counter["recovered"] += bool(values)
        counter["literal"] += any(known for _, known in values)
        if not values:
            result.missed.append(f"{item.name}: {stated[0]}")


def print_reader(result: ReaderResult, limit: int) -> None:
    print(f"shell files read: {result.files} in {result.seconds:.1f} s; with a launch: {result.with_launch}")
    print_failures(result.failures, limit)
    for group, scores in sorted(result.scores.items(), reverse=True):
        print(f"\n{group}: launches and settings, bash against the reader")
        print_table(["repository", *Score.HEAD], reader_rows(scores))
        total = summed(scores.values())
        print_list("silently wrong", total.wrong, limit)
        print_list("in bash but not read", total.missing, limit)
        print_list("read but not in bash", total.extra, limit)
    print("\nsettings asked first: scripts that state them, recovered, literal")
    print_table(ASKED_COLUMNS, asked_rows(result))
    print_list("stated but not recovered", result.missed, limit)


def reader_rows(scores: Mapping[str, Score]) -> list[list[object]]:
    rows: list[list[object]] = [[repo, *score.row()] for repo, score in sorted(scores.items())]
    return [*rows, ["all", *summed(scores.values()).row()]]


ASKED_COLUMNS = ("kind", "setting", "stated", "recovered", "literal", "lost in bash too")


def asked_rows(result: ReaderResult) -> list[list[object]]:
    columns = ("stated", "recovered", "literal", "lost")
    return [[*key, *(count[name] for name in columns)] for key, count in sorted(result.asked.items())]


def summed(scores: Iterable[Score]) -> Score:
    total = Score()
    for score in scores:
        total.add(score)
    return total


# --- findings of validate --------------------------------------------------------------------------------------------


@dataclass
class FindingsResult:
    rows: list[dict[str, Any]]  # one per file: name, kind, framework, findings, unknown_keys, undecided
    failures: Failures
    seconds: float

    def findings(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for row in self.rows:
            for finding in row["findings"]:
                yield row, finding


def measure_findings(items: Sequence[Item]) -> FindingsResult:
    from grpo_guard.model import to_dict
    from grpo_guard.validate import validate_targets

    def report(item: Item) -> dict[str, Any]:
        versions = VERSIONS.get(item.repo)
        data: dict[str, Any] = to_dict(validate_targets([item.file], root=item.tree, versions=versions))
        return data

    result = FindingsResult([], Failures(), 0.0)
    started = time.perf_counter()
    for item in items:
        data = result.failures.attempt(item, lambda item=item: report(item))  # type: ignore[misc]
        if data is None:
            continue
        row = {"name": item.name, "repo": item.repo, "kind": item.kind, "framework": data["framework"]}
        row |= {key: data.get(key, []) for key in ("findings", "unknown_keys", "summary")}
        row["undecided"] = [undecided["rule"] for undecided in data["undecided"]]
        result.rows.append(shortened(row, str(item.tree)))
    result.seconds = time.perf_counter() - started
    return result


def shortened(row: dict[str, Any], tree: str) -> dict[str, Any]:
    """The row without the place of the corpus on this machine."""
    text = json.dumps(row, ensure_ascii=False).replace(json.dumps(tree)[1:-1] + "/", "")
    short: dict[str, Any] = json.loads(text)
    return short


def rule_rows(result: FindingsResult) -> list[list[object]]:
    counts: Counter[tuple[str, str]] = Counter()
    files: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row, finding in result.findings():
        key = (finding["severity"], finding["rule"])
        counts[key] += 1
        files[key].add(row["name"])
    order = sorted(counts, key=lambda key: (LEVELS.index(key[0]), -len(files[key]), key[1]))
    return [[severity, rule, counts[severity, rule], len(files[severity, rule])] for severity, rule in order]


def framework_rows(result: FindingsResult) -> list[list[object]]:
    table: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in result.rows:
        counter = table[row["kind"], row["framework"] or "(none)"]
        counter["files"] += 1
        for level in LEVELS:
            counter[level] += any(finding["severity"] == level for finding in row["findings"])
    return [[*key, count["files"], *(count[level] for level in LEVELS)] for key, count in sorted(table.items())]


def official(result: FindingsResult) -> dict[str, list[dict[str, Any]]]:
    """Framework → the rows of its official examples."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in OFFICIAL}
    for row in result.rows:
        if row["repo"].startswith(OFFICIAL.get(row["framework"], ("-",))):
            rows[row["framework"]].append(row)
    return rows


KIND_COLUMNS = ("kind", "files", *(f"{level}s" for level in LEVELS))


def kind_rows(result: FindingsResult) -> list[list[object]]:
    """Findings of each level by kind of file."""
    files = Counter(row["kind"] for row in result.rows)
    counts = Counter((row["kind"], finding["severity"]) for row, finding in result.findings())
    return [[kind, files[kind], *(counts[kind, level] for level in LEVELS)] for kind in sorted(files)]


OFFICIAL_COLUMNS = ("framework", "official examples", *(f"{level}s" for level in LEVELS), "warnings per example")
OFTEN_COLUMNS = ("framework", "severity", "rule", "examples", "share")


def official_rows(result: FindingsResult) -> list[list[object]]:
    table: list[list[object]] = []
    for framework, rows in official(result).items():
        counts = Counter(finding["severity"] for row in rows for finding in row["findings"])
        share = f"{counts['warning'] / len(rows):.2f}" if rows else "-"
        table.append([framework, len(rows), *(counts[level] for level in LEVELS), share])
    return table


def often_rows(result: FindingsResult) -> list[list[object]]:
    """Rules that fire on more than OFTEN of a framework's official examples."""
    table: list[list[object]] = []
    for framework, rows in official(result).items():
        fired = Counter(key for row in rows for key in {(f["severity"], f["rule"]) for f in row["findings"]})
        table += [
            [framework, severity, rule, count, f"{count / len(rows):.1%}"]
            for (severity, rule), count in fired.most_common()
            if count > OFTEN * len(rows)
        ]
    return table


def told(row: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    setting = finding.get("setting") or {}
    here = setting.get("file", "") in row["name"]  # else the value is of a file that the script reads
    return f"{row['name']}:{(setting.get('line') or 0) if here else 0} {finding['rule']}: {finding['message']}"


def print_findings(result: FindingsResult, limit: int) -> None:
    print(f"\nfiles validated: {len(result.rows)} in {result.seconds:.1f} s")
    print_failures(result.failures, limit)
    print("\nfiles with at least one finding of a level, by kind and framework")
    print_table(["kind", "framework", "files", *LEVELS], framework_rows(result))
    print("\nfindings by rule")
    print_table(["severity", "rule", "findings", "files"], rule_rows(result))
    print("\nfindings by kind of file")
    print_table(KIND_COLUMNS, kind_rows(result))
    print("\nofficial examples")
    print_table(OFFICIAL_COLUMNS, official_rows(result))
    print(f"\nrules that fire on more than {OFTEN:.0%} of a framework's official examples")
    print_table(OFTEN_COLUMNS, often_rows(result))
    errors = [told(row, finding) for row, finding in result.findings() if finding["severity"] == "error"]
    print_list("errors, to be read by hand", errors, limit)


@dataclass
class Fault:
    """A fault of a published example that was confirmed by hand: the rules have to tell it."""

    name: str
    line: int
    versions: dict[str, str]
    rule: str  # pattern of the rule ids that may tell it
    what: str
    answer: str = "not read"


def load_faults() -> list[Fault]:
    faults = []
    for row in (DOCS / "corpus-faults.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        repo, path, line, versions, rule, what = row.split("\t")
        given = dict(version.split("=") for version in versions.split())
        faults.append(Fault(f"{repo}/{path}", int(line), given, rule, what))
    return faults


def measure_faults(items: Sequence[Item], failures: Failures) -> list[Fault]:
    from grpo_guard.validate import validate_targets

    known = {item.name: item for item in items}
    faults = [fault for fault in load_faults() if fault.name in known]
    for fault in faults:
        item = known[fault.name]

        def work(item: Item = item, fault: Fault = fault) -> Any:
            return validate_targets([item.file], root=item.tree, versions=fault.versions)

        report = failures.attempt(item, work)
        if report is None:
            continue
        told_by = [f for f in report.findings if re.fullmatch(fault.rule, f.rule) and place(f) in (0, fault.line)]
        listed = any(row.line == fault.line for row in report.unknown_keys)
        assumed = any(line.startswith(f"line {fault.line}: ") for line in report.assumptions)
        otherwise = "key listed" if listed else "assumption" if assumed else "missed"
        fault.answer = told_by[0].severity if told_by else otherwise
    return faults


def place(finding: Any) -> int:
    """The line of a finding; 0 when it is about a default."""
    return finding.setting.line if finding.setting else 0


def fault_rows(faults: Iterable[Fault]) -> list[list[object]]:
    return [[f"{fault.name}:{fault.line}", fault.what, fault.answer] for fault in faults]


def print_faults(faults: Sequence[Fault]) -> None:
    told_at_all = sum(fault.answer not in ("missed", "not read") for fault in faults)
    print(f"\nconfirmed faults of published examples: {len(faults)}, of which told: {told_at_all}")
    print_table(["place", "fault", "answer"], fault_rows(faults))


def print_changes(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]], limit: int) -> None:
    """What two runs say differently about the files that both read."""
    before, after = ({row["name"]: {lined(row, f) for f in row["findings"]} for row in rows} for rows in (old, new))
    shared = before.keys() & after.keys()
    print_list("new findings", sorted(line for name in shared for line in after[name] - before[name]), limit)
    print_list("findings gone", sorted(line for name in shared for line in before[name] - after[name]), limit)


def lined(row: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    """A finding by its place and rule; the wording may change between two runs."""
    return f"{finding['severity']} {told(row, finding).split(': ', 1)[0]}"


# --- output ----------------------------------------------------------------------------------------------------------


def print_failures(failures: Failures, limit: int) -> None:
    slowest = sorted(failures.seconds, key=lambda name: -failures.seconds[name])[:3]
    print("slowest: " + ", ".join(f"{name} {failures.seconds[name]:.2f} s" for name in slowest))
    print_list("crashes", failures.crashed, limit)
    print_list("refused with one line", failures.refused, limit)


def print_list(title: str, lines: Sequence[str], limit: int) -> None:
    print(f"{title}: {len(lines)}")
    shown = lines if limit < 0 else lines[:limit]
    for line in shown:
        print(f"  {line[:400]}")
    if len(shown) < len(lines):
        print(f"  ... {len(lines) - len(shown)} more (--list -1 shows all)")


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write_docs(
    items: Sequence[Item], reader: ReaderResult | None, findings: FindingsResult | None, faults: Sequence[Fault]
) -> None:
    listed = sorted((item for item in items if item.kind != NO_LAUNCH), key=lambda item: (item.repo, item.path))
    lines = ["repo\tcommit\tpath\tkind", *(f"{i.repo}\t{i.commit}\t{i.path}\t{i.kind}" for i in listed)]
    (DOCS / "corpus-index.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    counts = Counter((item.repo, item.kind) for item in listed)
    about = {item.repo: (item.commit, "yes" if item.held_out else "") for item in items}
    parts = [
        DOC_HEAD,
        markdown(
            ["repository", "commit", "held out", "files", f"{NO_LAUNCH} (not listed)"],
            [
                [
                    repo,
                    f"`{commit[:12]}`",
                    held,
                    sum(item.repo == repo for item in listed),
                    sum(item.repo == repo and item.kind == NO_LAUNCH for item in items),
                ]
                for repo, (commit, held) in sorted(about.items())
            ],
        ),
        f"\n## Files by kind\n\nAll listed files: {len(listed)}.\n",
        markdown(["repository", "kind", "files"], [[*key, count] for key, count in sorted(counts.items())]),
    ]
    if reader is not None:
        parts.append(READER_HEAD)
        for group, scores in sorted(reader.scores.items(), reverse=True):
            parts.append(f"\n### {group.capitalize()}\n\n" + markdown(["repository", *Score.HEAD], reader_rows(scores)))
        crashes, refused = len(reader.failures.crashed), len(reader.failures.refused)
        parts.append(f"\nShell files read: {reader.files}; crashes: {crashes}; refused with one line: {refused}.")
        parts.append(ASKED_HEAD)
        parts.append(markdown(ASKED_COLUMNS, asked_rows(reader)))
    if findings is not None:
        crashes, refused = len(findings.failures.crashed), len(findings.failures.refused)
        parts.append(FINDINGS_HEAD)
        parts.append(f"Files validated: {len(findings.rows)}; crashes: {crashes}; refused with one line: {refused}.\n")
        parts.append(markdown(["severity", "rule", "findings", "files"], rule_rows(findings)))
        parts.append("\n### By kind of file\n\n" + markdown(KIND_COLUMNS, kind_rows(findings)))
        parts.append("\n### Official examples\n\n" + markdown(OFFICIAL_COLUMNS, official_rows(findings)))
        parts.append(f"\nRules that fire on more than {OFTEN:.0%} of them:\n")
        parts.append(markdown(OFTEN_COLUMNS, often_rows(findings)))
        parts.append(FAULTS_HEAD)
        parts.append(markdown(["place", "fault", "answer"], fault_rows(faults)))
    (DOCS / "corpus.md").write_text("\n".join(parts) + "\n", encoding="utf-8")
    print("\nwritten: docs/corpus.md, docs/corpus-index.tsv")


DOC_HEAD = """# Test corpus

Launch scripts and configs of public repositories, on which the readers and the rules are measured. The files themselves
are not part of this repository; [corpus-index.tsv](corpus-index.tsv) lists every one (repository, commit, path, kind),
so that the corpus can be rebuilt from the public commits. This page is generated: `python scripts/corpus.py CORPUS
--write-docs`.

A tag after `@` names an older release of the same repository. Held-out repositories are set apart to check a finished
reader on scripts that it was not tuned on.

## Repositories
"""
READER_HEAD = """
## The shell reader against bash

Truth is what bash does: every script ran in a jail without network, devices or other programs, where each external
command is recorded instead of run, with an empty environment (HOME and USER are markers) and no arguments; probes such
as `nvidia-smi` and `python -c` fail. A setting is an override or a flag of a launch. *Unresolved*: the reader says that
the text does not decide the value. *Silently wrong*: it gives another value than bash and does not say so. *Not in
bash*: settings that the reader adds. The lenient run holds the scripts that start nothing without their environment;
there `exit`, `set -e`, `set -u` and missing files are passed over, so it says less."""
ASKED_HEAD = """
## Settings that users ask about first

Scripts whose text states the setting, those in which the reader recovers it, and those with a literal value. *Lost in
bash too*: scripts that name it, but in bash no launch gets it (a broken continuation, a branch not taken).
"""
FINDINGS_HEAD = """
## Findings

Every listed file validated on its own, with the versions that its snapshot states. A finding in a published example is
either a fault of the example or a false alarm; [false-alarms.md](false-alarms.md) says which, one by one.
"""
FAULTS_HEAD = """
## Confirmed faults of published examples

[corpus-faults.tsv](corpus-faults.tsv) lists faults that were confirmed with bash, with Hydra or in the framework's
source. Each script is validated with the version given there. The answer is the severity of the finding that tells the
fault; *key listed* means that the key stands among the unknown keys, without a finding, and *assumption* that the
answer says at that line what it takes for granted.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder with index.json, truth.json and trees/")
    parser.add_argument("--only", choices=("reader", "findings", "index"), help="one part of the measurement")
    parser.add_argument("--repo", action="append", help="only this repository (may be repeated)")
    parser.add_argument("--kind", action="append", help="only this kind, e.g. verl-shell (may be repeated)")
    parser.add_argument("--held-out", choices=("all", "no", "only"), default="all", help="default: all")
    parser.add_argument("--list", type=int, default=40, metavar="N", help="lines per list, -1 for all (default 40)")
    parser.add_argument("--findings-json", type=Path, metavar="FILE", help="write the findings of every file")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="findings of an earlier run, to see what changed")
    parser.add_argument("--write-docs", action="store_true", help="rewrite docs/corpus.md and docs/corpus-index.tsv")
    arguments = parser.parse_args()
    try:
        items = load_items(arguments.corpus)
        truth = json.loads((arguments.corpus / "truth.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{arguments.corpus} is no corpus: {error}; see docs/corpus.md")
    selected = chosen(items, arguments)
    if arguments.write_docs and len(selected) != len(items):
        parser.error("--write-docs needs the whole corpus: leave out --repo, --kind and --held-out")

    reader = findings = None
    faults: list[Fault] = []
    if arguments.only in (None, "reader"):
        reader = measure_reader(selected, truth)
        print_reader(reader, arguments.list)
    if arguments.only in (None, "findings"):
        findings = measure_findings([item for item in selected if item.kind != NO_LAUNCH])
        print_findings(findings, arguments.list)
        faults = measure_faults(selected, findings.failures)
        print_faults(faults)
        if arguments.compare:
            print_changes(json.loads(arguments.compare.read_text(encoding="utf-8")), findings.rows, arguments.list)
        if arguments.findings_json:
            text = json.dumps(findings.rows, ensure_ascii=False, indent=1)
            arguments.findings_json.write_text(text + "\n", encoding="utf-8")
    if arguments.write_docs:
        write_docs(items, reader, findings, faults)
    crashed = [*(reader.failures.crashed if reader else []), *(findings.failures.crashed if findings else [])]
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
