"""The 37 documented modes of the seeds' nine programs and four of their tables: the call that answers each here,
through a real client over stdio, and what its answer has to contain.

`must` says it in words; `holds` looks at the structured content of a real call with these arguments.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.anyio

Data = dict[str, Any]
ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests/cases/rules"


@dataclass(frozen=True)
class Mode:
    """A mode of a seed's program, or a table of its documents."""

    name: str
    tool: str
    arguments: Mapping[str, Any]
    must: str
    holds: Callable[[Data], bool]
    also: tuple[tuple[Mapping[str, Any], Callable[[Data], bool]], ...] = field(default=())  # further calls

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def rules_of(data: Data) -> set[str]:
    return {row["rule"] for row in data["findings"]}


def cited(data: Data) -> bool:
    """Each finding that the text of the user caused names its key, line and fix."""
    rows = [row for row in data["findings"] if row["setting"]["origin"] == "explicit"]
    return bool(rows) and all(row["setting"]["key"] and row["setting"]["line"] and row["fix"]["text"] for row in rows)


def leads(data: Data, *patterns: str) -> bool:
    """These patterns are among the hypotheses, ranked, each with evidence, a check and a fix."""
    rows = data["hypotheses"]
    ranked = [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    falling = all(a["confidence"] >= b["confidence"] for a, b in pairwise(rows))
    complete = all(rows[0].get(name) for name in ("evidence", "confirm", "fix"))
    return ranked and falling and complete and set(patterns) <= {row["pattern"] for row in rows}


def told(data: Data, *words: str) -> bool:
    """A section of the report has each of the words."""
    text = "\n".join(line for section in data["sections"] for line in [section["title"], *section["lines"]]).lower()
    return all(word.lower() in text for word in words)


def computed(data: Data, *words: str) -> bool:
    """The same, and the report gives sizes in GiB for the card."""
    return (
        data["gpu"]["usable_gib"] > 20
        and any(any(letter.isdigit() for letter in line) for section in data["sections"] for line in section["lines"])
        and told(data, "GiB", *words)
    )


def native(data: Data) -> bool:
    """A fragment in the framework's own syntax, each line with its reason and source."""
    lines = data["lines"]
    return bool(data["fragment"].strip()) and all(row["text"] and row["why"] and row["source"] for row in lines)


def bug_rows(data: Data) -> Iterable[Data]:
    return (bug for cell in data["cells"] for bug in cell["bugs"])


def kinds(data: Data) -> set[str]:
    return {row["kind"] for row in data["chain"]}


def case(rule: str, name: str) -> str:
    return (CASES / rule / name).read_text(encoding="utf-8")


SEED_LINE = (
    '{"zero_stage":2,"gradient_clipping":1.0,"overlap_comm":false,"lora_rank":32,"fsdp_mode":"fsdp1","group_size":8}'
)
SEED_OPTIMAL = (ROOT / "examples/seed_optimal.json").read_text(encoding="utf-8")
SEED_IDS = [f"D{number:02}" for number in range(1, 20)] + [f"N{number:02}" for number in range(1, 18)]
SEED_SYMPTOMS = {
    "NaN in loss", "Loss plateau", "OOM", "MoE NaN", "EOS missing", "Rollout engine crash", "Reward flat",
    "Silent weight corruption",
}  # fmt: skip


def thirty_six(data: Data) -> bool:
    rows = data["seed_rules"]
    explained = all(row["note"] for row in rows if row["status"] in ("unknown", "not_applicable"))
    return [row["id"] for row in rows] == SEED_IDS and explained and {row["status"] for row in rows} > {"pass"}


ANSWERS = ("right", "conditional", "outdated", "wrong")
FULL = {"detail": "full"}

MODES = [
    # grpo_training_debug_playbook
    Mode("debug_playbook playbook", "playbook", FULL, "all classes of failure, and steps",
         lambda d: len(d["patterns"]) >= 32 and len(d["steps"]) >= 30 and all(row["do"] for row in d["steps"])),
    Mode("debug_playbook symptoms", "symptoms", FULL, "the seeds' symptoms and more, each with ranked causes",
         lambda d: {row.get("seed") for row in d["symptoms"]} >= SEED_SYMPTOMS
         and len(d["symptoms"]) > len(SEED_SYMPTOMS)
         and all(row["likely"] and all(cause["why"] for cause in row["likely"]) for row in d["symptoms"])),
    Mode("debug_playbook fixes", "fixes", {"limit": 500, "detail": "normal"},
         "a fix for each bug, grouped by pattern; and for one bug",
         lambda d: d["total"] >= 500 and all(row["fix"] or row["status"] != "fixed" for row in d["fixes"])
         and is_grouped([row["pattern"] for row in d["fixes"]]),
         also=(({"bug": "verl-6782"}, lambda d: d["fixes"][0]["fixed_in"] == {"verl": "0.9.0"}
                and "0.9.0" in d["fixes"][0]["fix"] and bool(d["fixes"][0]["workaround"])),)),
    Mode("debug_playbook rtx4090", "rtx4090", {"topic": "playbook", **FULL},
         "pre-flight, NaN, memory, convergence, monitoring",
         lambda d: told(d, "before the launch", "NaN:", "Out of memory", "Flat reward or loss", "Monitoring")),
    # grpo_nan_debugging_guide
    Mode("nan_guide check", "validate_config", {"focus": "nan", "config": case("bf16-and-fp16", "fires.json")},
         "NaN hazards of the given config", lambda d: "bf16-and-fp16" in rules_of(d) and cited(d)),
    Mode("nan_guide diagnose", "diagnose",
         {"focus": "nan", "symptoms": "loss is nan", "log": "step:7 - actor/pg_loss:nan - actor/grad_norm:nan\n"},
         "ranked NaN causes from words or log",
         lambda d: leads(d, "precision_overflow") and any(row["source"] in ("log", "metric") for row in d["signals"])),
    Mode("nan_guide avoid", "avoid", {"focus": "nan", "framework": "verl"}, "a fragment in verl's syntax", native),
    Mode("nan_guide rtx4090", "rtx4090", {"topic": "nan", **FULL}, "NaN hazards that a 24 GB card adds or not",
         lambda d: told(d, "A card's size causes no NaN", "that can fire on one card", "bf16")),
    # megatron_muon_clipping_avoidance_tool
    Mode("muon check", "validate_config",
         {"focus": "muon", "config": case("muon-clipped-after-orthogonalization", "fires.json"),
          "versions": "deepspeed=0.19.8"},
         "Muon and clipping hazards of Megatron or DeepSpeed arguments",
         lambda d: "muon-clipped-after-orthogonalization" in rules_of(d) and cited(d)),
    Mode("muon diagnose", "diagnose",
         {"focus": "muon", "symptoms": "Muon update does not change with the clip, gradient norm huge", **FULL},
         "the eps floor, clipping after orthogonalization and zero-signal groups told apart",
         lambda d: leads(d, "muon_clipping")
         and {"emerging-optimizers-229", "deepspeed-7776"} <= set(d["hypotheses"][0]["bugs"])
         and any("orthogonaliz" in text for text in d["hypotheses"][0]["evidence"]),
         also=(({"focus": "all", "symptoms": "grad norm is exactly 0, all rewards of a group are equal", **FULL},
                lambda d: leads(d, "uninformative_groups")),)),
    Mode("muon avoid", "avoid", {"focus": "muon", "framework": "megatron"}, "a fragment, bound to versions",
         lambda d: native(d) and any(letter.isdigit() for letter in str(d["lines"]))),
    Mode("muon rtx4090", "rtx4090", {"topic": "muon", **FULL}, "memory, and whether it applies",
         lambda d: computed(d, "Adam 7.4, Muon 6.0", "that can fire on one card")),
    # cuda_stream_safety_pattern_synthesis
    Mode("streams map", "matrix", {"view": "streams", **FULL}, "members by framework: order, lifetime, unmapping",
         lambda d: {"order", "lifetime", "unmap"} <= {row["kind"] for row in d["rows"]}
         and {"deepspeed", "vllm", "megatron"} <= set(d["frameworks"])
         and all(row["bugs"] for row in d["rows"] if row["kind"] in ("order", "lifetime", "unmap"))),
    Mode("streams analyze", "validate_config",
         {"focus": "streams", "config": '{"zero_optimization": {"stage": 2,\n "overlap_comm": true}}',
          "versions": {"deepspeed": "0.18.5"}},
         "stream hazards of a real config and versions",
         lambda d: "overlap-comm-frees-buffers" in rules_of(d) and cited(d)
         and "torch_compile" in str(d["undecided"])),
    Mode("streams compare", "matrix", {"view": "streams", "compare": True, **FULL},
         "side by side: cause, fix, fixed in",
         lambda d: len({row.get("framework") for row in d["rows"]}) >= 4
         and all(row["cause"] and row["fix"] for row in d["rows"] if row["kind"] != "something else")
         and any(row.get("fixed_in") == {"deepspeed": "0.19.3"} for row in d["rows"])),
    Mode("streams rtx4090", "rtx4090", {"topic": "streams", **FULL}, "which of them one card can meet",
         lambda d: told(d, "can happen; deepspeed-8061", "cannot happen; it needs more than one GPU")),
    # algorithm_infra_knowledge_map
    Mode("knowledge theory", "explain", {"id": "deepspeed-8061", "view": "theory"}, "the derivation behind a bug",
         lambda d: {"bug", "pattern", "proof"} <= kinds(d) and all(row["text"] for row in d["chain"])),
    Mode("knowledge bug", "explain", {"id": "verl-project/verl#6782", "view": "bug", **FULL},
         "bug, pattern and decisions; ids with their repository",
         lambda d: d["id"] == "verl-6782" and {"bug", "pattern", "rule", "seed"} <= kinds(d)),
    Mode("knowledge decision", "explain", {"view": "decision", **FULL}, "every rule with its reason",
         lambda d: [row["id"] for row in d["chain"]] == SEED_IDS
         and all("Answer: " in row["text"] for row in d["chain"])),
    Mode("knowledge rtx4090", "rtx4090", {"topic": "knowledge", **FULL}, "decisions that hold on a 24 GB card",
         lambda d: told(d, "Hold (", "Hold under conditions", "Do not hold") and told(d, *SEED_IDS)),
    Mode("knowledge proof", "proof", {"id": "group-size-one", **FULL}, "statement, derivation, a check that ran now",
         lambda d: bool(d["statement"] and d["derivation"]) and d["check"]["pass"] is True
         and all(row["pass"] and row["got"] is not None for row in d["check"]["cases"])),
    Mode("knowledge cross", "explain", {"id": "deepspeed-8061", "view": "cross", **FULL},
         "the same pattern in other frameworks",
         lambda d: {"vllm-45552", "megatron-3140", "sglang-34076"} <= {row["id"] for row in d["chain"]}),
    # cross_framework_grpo_bug_avoidance_matrix
    Mode("matrix matrix", "matrix", FULL, "pattern by framework with ids and status, and the 36 rules",
         lambda d: len(d["patterns"]) >= 32 and len(d["frameworks"]) >= 7
         and all(bug["id"] and bug["status"] for bug in bug_rows(d)) and [row["id"] for row in d["rows"]] == SEED_IDS),
    Mode("matrix validate", "validate_config", {"ruleset": "seed", "config": SEED_OPTIMAL},
         "36 rows; both documented examples are read", thirty_six,
         also=(({"ruleset": "seed", "config": SEED_LINE}, thirty_six),)),
    Mode("matrix rtx4090", "rtx4090", {"topic": "config"}, "a config that can be launched, validated, with its memory",
         lambda d: all("text" in row and row["validation"]["error"] == 0 and 0 < row["peak_gib"] < 24
                       for row in d["configs"]) and any("verl.trainer" in row["text"] for row in d["configs"])),
    Mode("matrix cross-framework", "matrix", {"view": "cross", "bug": "deepspeed-8061", **FULL},
         "related bugs, rules and frameworks",
         lambda d: {"bug", "related", "same pattern elsewhere"} <= {row["relation"] for row in d["rows"]}
         and any(row["relation"] == "rule" for row in d["rows"]) and len(d["frameworks"]) >= 4),
    # moe_nan_fp32_softmax_avoidance_tool
    Mode("moe check", "validate_config",
         {"focus": "moe", "config": case("moe-router-in-model-dtype", "fires.sh"), "versions": "verl=0.9.0"},
         "router dtype hazards from real keys",
         lambda d: "moe-router-in-model-dtype" in rules_of(d) and "router" in str(d["findings"])),
    Mode("moe diagnose", "diagnose",
         {"focus": "moe", "symptoms": "MoE loss NaN in fp16; rollout and trainer route to different experts"},
         "causes of MoE NaN and of routing mismatch",
         lambda d: leads(d, "discrete_decision_mismatch", "precision_overflow")),
    Mode("moe avoid", "avoid", {"focus": "moe", "framework": "verl"}, "a fragment in verl's syntax", native),
    Mode("moe rtx4090", "rtx4090", {"topic": "moe", **FULL}, "which MoE models fit, computed",
         lambda d: computed(d, "Qwen3-30B-A3B", "weights fit as 4 bit", "does not fit in any of these ways")),
    # fsdp1_vs_fsdp2_decision_guide
    Mode("fsdp guide", "playbook", {"topic": "fsdp", **FULL}, "a decision by torch version, LoRA, offload, ranks",
         lambda d: all(any(word in row["do"] for row in d["steps"])
                       for word in ("torch below", "LoRA", "host memory", "One GPU"))),
    Mode("fsdp compare", "matrix", {"view": "fsdp", **FULL}, "FSDP1 beside FSDP2, bugs bound to versions",
         lambda d: len(d["rows"]) >= 8 and all(row["fsdp1"] and row["fsdp2"] for row in d["rows"])
         and any(bug["fixed_in"] for bug in bug_rows(d))),
    Mode("fsdp validate", "validate_config",
         {"focus": "fsdp", "path": "examples/verl_lora.sh", "versions": "verl=0.8.0", "limit": 50},
         "findings on a real verl config",
         lambda d: "lora-merge-stale-weights" in rules_of(d) and cited(d)),
    Mode("fsdp rtx4090", "rtx4090", {"topic": "fsdp", **FULL}, "offload and memory on one card",
         lambda d: computed(d, "FSDP2 offload policy", "One rank shards nothing")),
    # deepspeed_zero_safety_checker
    Mode("zero check", "validate_config",
         {"focus": "zero", "path": "ds_config.json", "versions": "deepspeed=0.18.5"},
         'a real DeepSpeed JSON, "auto" included',
         lambda d: {"offload-drops-micro-gradients"} <= rules_of(d) and cited(d) and d["unknown_keys"] == []),
    Mode("zero diagnose", "diagnose",
         {"focus": "zero", "symptoms": "ZeRO-2 with CPU offload: loss differs with gradient accumulation"},
         "ZeRO causes from words or log",
         lambda d: leads(d, "gradients_dropped_or_rescaled")
         and any(name.startswith("deepspeed-") for name in d["hypotheses"][0]["bugs"])),
    Mode("zero rtx4090", "rtx4090", {"topic": "zero", **FULL}, "stage and offload on one card, computed",
         lambda d: computed(d, "Stages on one GPU", "With offload", "weights too (stage 3 only)")),
    # tables of the documents
    Mode("table: MoE NaN by platform", "matrix", {"view": "moe", **FULL},
         "true causes per platform, with our answer to the claim",
         lambda d: len(d["rows"]) == 4 and all(
             row["platform"] and row["cause"] and row["fix"] and row["answer"] in ANSWERS
             for row in d["rows"])),
    Mode("table: if NaN, if plateau", "rtx4090", {"topic": "playbook", **FULL}, "both lists, corrected",
         lambda d: told(d, "If NaN appears: the seeds' list, corrected",
                        "If there is a plateau: the seeds' list, corrected")),
    Mode("table: notes to load", "read_reference", {"framework": "verl"}, "the framework's notes; the index",
         lambda d: "auto-memory" in str(d["found"]) and any("verl" in row["uri"] for row in d["found"]),
         also=(
             *(({"framework": name}, lambda d: len(d["found"]) >= 2 and bool(d["text"]))
               for name in ("deepspeed", "vllm", "megatron", "rllm", "pytorch", "vllm-ascend")),
             ({"name": "auto-memory"}, lambda d: "Notes" in d["sections"] and bool(d["text"])))),
    Mode("table: triggers of the skills", "match_skill", {"query": "GRPO NaN"}, "each trigger finds its skill first",
         lambda d: d["skills"][0]["name"] == "grpo-debug"),
]  # fmt: skip


def is_grouped(names: list[str]) -> bool:
    """Equal names stand together."""
    return len([name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]) == len(set(names))


def triggers() -> list[tuple[str, str]]:
    """(skill, trigger) of both skills, as their own files have them."""
    pairs = []
    for path in sorted((ROOT / "skills").glob("*/SKILL.md")):
        head = yaml.safe_load(path.read_text(encoding="utf-8").split("---")[1])
        pairs += [(head["name"], word.strip()) for word in head["metadata"]["triggers"].split(";") if word.strip()]
    return pairs


DS_CONFIG = """{
  "train_batch_size": "auto",
  "gradient_accumulation_steps": 8,
  "gradient_clipping": "auto",
  "bf16": {"enabled": "auto"},
  "zero_optimization": {
    "stage": 2,
    "offload_optimizer": {"device": "cpu"},
    "reduce_bucket_size": "auto"
  }
}
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def client(anyio_backend, tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "ds_config.json").write_text(DS_CONFIG)
    server = StdioServerParameters(command=sys.executable, args=["-m", "grpo_guard", "serve", "--root", str(folder)])
    async with Client(server) as connected:
        yield connected


def test_there_are_37_modes_and_four_tables():
    assert len(MODES) == 41
    assert sum(mode.name.startswith("table: ") for mode in MODES) == 4


@pytest.mark.parametrize(
    "mode",
    MODES,
    ids=str,
)
async def test_a_mode_is_answered(client, mode):
    for arguments, holds in ((mode.arguments, mode.holds), *mode.also):
        result = await client.call_tool(mode.tool, dict(arguments))
        assert not result.is_error, result.content
        assert holds(result.structured_content), (mode.must, arguments, result.structured_content)


async def test_each_trigger_finds_its_skill_first(client):
    pairs = triggers()
    assert len(pairs) >= 37
    wrong = {}
    for skill, words in pairs:
        found = (await client.call_tool("match_skill", {"query": words})).structured_content["skills"]
        if not found or found[0]["name"] != skill:
            wrong[words] = [row["name"] for row in found]
    assert wrong == {}
