"""Sizes of tool list and default answers, over the largest real inputs that the project has. Tokens are characters / 4.

python scripts/answer_sizes.py            the table of README.md
python scripts/answer_sizes.py --json     per tool: characters of its schema, median and maximum of its answers, and the
                                          call that gave the maximum
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 40  # launch scripts and configs: the largest of the test inputs
Call = dict[str, Any]


def calls() -> dict[str, list[Call]]:
    """Calls with default `detail` and `limit`. A tool that is not listed is called without arguments."""
    from grpo_guard.store import lookup as store
    from grpo_guard.store.index import index

    frameworks = ["verl", "trl", "deepspeed", "openrlhf", "megatron", "vllm", "rllm"]
    ids = [*list(store.bugs())[::6], *[row["id"] for row in index()["rules"]][::4]]
    seeds = [row["id"] for row in index()["seed_rules"]]
    words = [entry["title"] for entry in store.symptoms().values()]
    return {
        "validate_config": list(_configs("path")),
        "diagnose": [*({"symptoms": text} for text in words[::2]), *_configs("config_path", symptoms="loss is nan")],
        "symptoms": [{}, *({"query": text} for text in words)],
        "playbook": [{}, *({"topic": name} for name in [*store.patterns(), *store.symptoms(), *frameworks, "fsdp"])],
        "fixes": [{}, *({"bug": name} for name in store.bugs()), *({"pattern": name} for name in store.patterns())],
        "avoid": [{"focus": topic, "framework": name} for topic in ("nan", "muon", "moe") for name in frameworks],
        "matrix": [
            *({"view": view} for view in ("default", "streams", "fsdp", "frameworks", "moe", "versions")),
            {"compare": True},
            {"view": "streams", "compare": True},
            *({"view": "cross", "bug": name} for name in list(store.bugs())[::12]),
        ],
        "explain": [{}, *({"id": name} for name in [*ids, *seeds, *store.patterns()])],
        "proof": [{}, *({"id": entry["id"]} for entry in store.proofs())],
        "rtx4090": [{"topic": topic, "gpu": gpu} for topic in _topics() for gpu in ("4090", "H100")],
        "estimate_memory": [
            {"model": model, "gpu": gpu, "settings": {"framework": name}}
            for model in ("Qwen3-0.6B", "Qwen2.5-7B", "Qwen3-30B-A3B", "Qwen3-235B-A22B")
            for gpu in ("4090", "H100")
            for name in ("verl", "trl", "openrlhf")
        ],
        "match_skill": [{"query": text} for text in words[::4]],
        "read_reference": [
            {},
            *({"name": name} for name in store.notes()),
            *({"framework": name} for name in ("verl", "deepspeed", "vllm", "megatron")),
            *({"search": text} for text in words[::6]),
        ],
    }


def _topics() -> list[str]:
    from grpo_guard.rtx4090.report import TOPICS

    return list(TOPICS)


def _configs(argument: str, **more: str) -> Iterator[Call]:
    """The examples and the largest inputs of tests/cases."""
    inputs = [path for path in (ROOT / "tests/cases").rglob("*") if path.suffix in (".sh", ".yaml", ".json", ".py")]
    largest = sorted(inputs, key=lambda path: (-path.stat().st_size, str(path)))[:LARGEST]
    examples = [path for path in sorted((ROOT / "examples").iterdir()) if path.is_file()]
    for path in [*examples, ROOT / "benchmarks/data/verl_grpo.sh", *largest]:
        yield {argument: str(path.relative_to(ROOT)), **more}


def sizes() -> dict[str, dict[str, Any]]:
    """Per tool, in the order of the list: schema, median, maximum (characters of compact JSON), and its call."""
    from grpo_guard.app import TOOLS, _describe
    from grpo_guard.configs.values import InputError
    from grpo_guard.lookup import entries
    from grpo_guard.model import plain
    from grpo_guard.roots import Roots

    entries.OLD_DAYS = 10**6  # type: ignore[misc]  # the sizes must not change with the day
    roots, asked = Roots.choose([str(ROOT)]), calls()
    found: dict[str, dict[str, Any]] = {}
    for tool in TOOLS:
        answers = []
        for call in asked.get(tool.name, [{}]):
            try:
                data = plain(tool.call(call, roots).data)
            except InputError:
                continue  # a framework without such a fragment, a file that is no config
            if tool.name == "proof" and "check" in data:
                data["check"]["seconds"] = 0.01
            answers.append((_characters(data), json.dumps(call, ensure_ascii=False)))
        described = _describe(tool).model_dump(by_alias=True, exclude_none=True, mode="json")
        most, call_of_most = max(answers)
        median = statistics.median_low(size for size, _ in answers)
        found[tool.name] = {"schema": _characters(described), "median": median, "most": most, "call": call_of_most}
    return found


def _characters(data: Any) -> int:
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def table() -> str:
    """The table of README.md."""
    rows = sizes()
    lines = ["| tool | its schema | typical answer | largest answer |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {row['schema'] // 4} | {row['median'] // 4} | {row['most'] // 4} |" for name, row in rows.items()
    ]
    total = sum(row["schema"] for row in rows.values()) // 4
    return "\n".join([*lines, f"| all | {total:,} | | |"])


if __name__ == "__main__":
    print(json.dumps(sizes(), indent=1) if "--json" in sys.argv else table())
