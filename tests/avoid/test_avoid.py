"""avoid: what it writes is valid for the release, and the rules that stand behind it no longer object."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from grpo_guard.avoid.avoid import FOCUS, avoid, framework_of
from grpo_guard.avoid.releases import newest_known
from grpo_guard.configs.assembly import ADAPTERS
from grpo_guard.configs.keys import versions as read_versions
from grpo_guard.configs.values import InputError
from grpo_guard.store import lookup as store
from grpo_guard.store.index import index, rules_of
from grpo_guard.validate import validate_text

TOPICS = [focus for focus in FOCUS if focus != "knowledge"]
FRAMEWORKS = [name for name in ADAPTERS if name != "seed"]
BACKEND = ["0.14.5", "0.15.4", "0.17.1", "0.17.6", "0.18.2", "0.18.5", "0.18.9", "0.19.1", "0.19.3", "0.19.7", "0.19.8"]


def releases_of(framework: str) -> Iterator[dict[str, str]]:
    """No version, releases over the whole range of the data, and those of DeepSpeed below a trainer that uses it."""
    yield {}
    known = read_versions(framework)
    package = index()["adapters"][framework]["package"]
    yield from ({package: version} for version in {*known[:: max(1, len(known) // 6)], known[-1]})
    if any("deepspeed" in rule.get("affected", ()) for rule in rules_of(framework)):
        yield from ({"deepspeed": version} for version in BACKEND)


CASES = [
    pytest.param(topic, name, versions, id=f"{topic}-{name}-{'-'.join(versions.values()) or 'newest'}")
    for topic in TOPICS
    for name in FRAMEWORKS
    for versions in releases_of(name)
]


@pytest.mark.parametrize("topic, framework, versions", CASES)
def test_the_fragment_passes_our_own_rules(topic, framework, versions):
    answer = avoid(topic, framework, versions)
    assert not [note for note in answer.get("notes", ()) if note.startswith("our own check")]
    assert all(line["text"] and line["why"] and line["source"].startswith("http") for line in answer["lines"])
    if not answer["lines"]:
        assert answer["notes"][0].startswith("nothing to avoid: ")
    if not answer["fragment"]:
        return
    report = validate_text(answer["fragment"], framework=framework, versions=answer["versions"])
    about = [row for row in report.findings if row.severity != "info" and not on_a_missing_key(row)]
    assert [(row.rule, row.message) for row in about] == []
    assert [row.key for row in report.unknown_keys] == []
    behind = {name for row in store.avoid()["rows"] if in_answer(row, answer) for name in row.get("rules", ())}
    assert behind & {finding.rule for finding in report.findings} == set()


def on_a_missing_key(finding) -> bool:
    """A fragment is a part of a config: what rests on the default of a key that it does not set is not its fault, and
    no more is what the versions of the case say of each other."""
    return finding.setting is None or finding.setting.origin == "default"


def in_answer(row, answer) -> bool:
    why = " ".join(row["why"].split())
    return any(why in line["why"] and not line["text"].startswith("# ") for line in answer["lines"])


def written(answer) -> list[str]:
    return [line["text"] for line in answer["lines"] if not line["text"].startswith("# ")]


# What the rows say is not said in vain: with the opposite value the rule that stands behind the row fires.


@pytest.mark.parametrize(
    "topic, versions, key, rest, rule",
    [
        ("streams", "0.18.5", ("zero_optimization", "overlap_comm", True), {"stage": 2}, "overlap-comm-frees-buffers"),
        ("nan", "0.18.5", ("bf16", "check_grad_overflow", False), {"stage": 2}, "bf16-gradients-unchecked"),
        ("nan", "0.19.8", ("fp16", "enabled", True), {}, "bf16-and-fp16"),
        ("muon", "0.18.9", ("zero_optimization", "offload_optimizer", {"device": "cpu"}), {}, "muon-offload-plain-sgd"),
        ("muon", "0.18.9", ("zero_optimization", "stage", 0), {}, "muon-plain-sgd"),
        ("muon", "0.19.8", ("", "gradient_clipping", 1.0), {}, "muon-clipped-after-orthogonalization"),
    ],
)
def test_the_opposite_of_a_line_is_what_the_rule_finds(topic, versions, key, rest, rule):
    config = json.loads(avoid(topic, "deepspeed", {"deepspeed": versions})["fragment"])
    section, name, value = key
    config.setdefault("zero_optimization", {}).update(rest)
    before = validate_text(json.dumps(config), framework="deepspeed", versions={"deepspeed": versions})
    assert rule not in {finding.rule for finding in before.findings}
    (config[section] if section else config)[name] = value
    after = validate_text(json.dumps(config), framework="deepspeed", versions={"deepspeed": versions})
    assert rule in {finding.rule for finding in after.findings}


# Syntax and versions


def test_deepspeed_gets_json_of_what_its_release_needs():
    answer = avoid("nan", "deepspeed", {"deepspeed": "0.18.5"})
    assert json.loads(answer["fragment"]) == {
        "zero_optimization": {"stage": 1, "overlap_comm": False},
        "bf16": {"enabled": True, "check_grad_overflow": True},
        "fp16": {"enabled": False},
    }
    assert answer["versions"] == {"deepspeed": "0.18.5"}


def test_a_newer_release_needs_less():
    old, new = (avoid("streams", "deepspeed", {"deepspeed": version}) for version in ("0.18.5", "0.19.8"))
    assert "overlap_comm" in old["fragment"]
    assert new["fragment"] == ""


def test_a_key_is_written_as_the_release_spells_it():
    assert written(avoid("zero", "openrlhf", {"openrlhf": "0.9.0"})) == ["--zero_stage 3"]
    assert written(avoid("zero", "openrlhf", {"openrlhf": "0.11.0"})) == ["--ds.zero_stage 3"]


def test_a_key_of_another_engine_or_a_later_release_is_not_written():
    assert "lora.merge" not in avoid("fsdp", "verl", {"verl": "0.7.1"})["fragment"]
    assert avoid("fsdp", "verl", {"verl": "0.8.0"})["fragment"] == "actor_rollout_ref.model.lora.merge=false"


def test_hydra_takes_a_key_that_is_handed_on_with_a_plus():
    lines = written(avoid("moe", "verl", {"verl": "0.9.1"}))
    assert "+actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32" in lines


def test_what_is_told_in_words_names_native_keys():
    lines = avoid("moe", "verl", {"verl": "0.8.0"})["lines"]
    told = next(line["text"] for line in lines if line["why"] == "Router replay R2 beside routes from the rollout")
    assert "actor_rollout_ref.rollout.enable_rollout_routing_replay=false" in told


def test_accelerate_gets_its_section():
    assert avoid("fsdp", "accelerate", {"accelerate": "1.13.0"})["fragment"].splitlines() == [
        "distributed_type: FSDP",
        "fsdp_config:",
        "  fsdp_reshard_after_forward: true",
        "  fsdp_version: 2",
    ]


def test_muon_is_bound_to_the_releases_that_have_it():
    assert avoid("muon", "deepspeed", {"deepspeed": "0.17.5"})["notes"][0].startswith("nothing to avoid")
    old, new = (avoid("muon", "deepspeed", {"deepspeed": version}) for version in ("0.18.9", "0.19.8"))
    assert {"reduce_scatter", "offload_optimizer"} <= set(json.loads(old["fragment"])["zero_optimization"])
    assert json.loads(new["fragment"])["zero_optimization"] == {"stage": 2}


def test_what_the_framework_has_no_key_for_is_told_with_the_place_where_it_stands():
    answer = avoid("streams", "trl", {"deepspeed": "0.18.5"})
    assert answer["lines"][0]["text"] == "# overlap_comm: false"
    assert "settings with # have no key in trl: see avoid with framework=deepspeed" in answer["notes"]


def test_a_switch_is_off_by_leaving_it_out():
    lines = avoid("streams", "openrlhf", {"openrlhf": "0.9.0"})["lines"]
    assert lines[0]["text"] == "# leave out --overlap_comm"


def test_releases_that_fail_together_are_told():
    lines = avoid("zero", "openrlhf", {"openrlhf": "0.8.7", "vllm": "0.10.0"})["lines"]
    assert "# Use OpenRLHF 0.8.8 or later, or vLLM below 0.10." in [line["text"] for line in lines]


def test_the_pinned_release_of_another_package_is_taken():
    answer = avoid("streams", "openrlhf", {"openrlhf": "0.9.0"})
    assert answer["versions"]["deepspeed"] == "0.18.1"  # Requires-Dist of OpenRLHF 0.9.0


@pytest.mark.parametrize("slime, megatron", [("0.2.0", "0.14.0"), ("0.3.1", "0.16.0.dev20260214")])
def test_slime_gets_lines_for_the_megatron_that_it_builds(slime, megatron):
    answer = avoid("moe", "slime", {"slime": slime})
    assert answer["versions"] == {"megatron-core": megatron, "slime": slime}
    assert "--moe-router-dtype fp32" in written(answer)


@pytest.mark.parametrize(
    "framework, line",
    [
        ("skyrl", "trainer.policy.megatron_config.moe_router_dtype=fp32"),
        ("nemo-rl", "policy.megatron_cfg.moe_router_dtype: fp32"),
        ("ms-swift", "--bf16"),
        ("areal", "sglang.dtype: bfloat16"),
    ],
)
def test_keys_of_one_engine_or_back_end_are_written(framework, line):
    assert line in written(avoid("moe", framework))


def test_without_versions_the_newest_is_taken_and_named():
    answer = avoid("nan", "deepspeed")
    newest = newest_known("deepspeed")
    assert answer["versions"] == {"deepspeed": newest}
    assert f"newest known release assumed: deepspeed {newest}; give versions for yours" in answer["notes"]


def test_a_release_newer_than_the_data_is_said_to_be():
    notes = avoid("nan", "deepspeed", {"deepspeed": "99.0"})["notes"]
    assert any("deepspeed 99.0 is newer than the data" in note for note in notes)


def test_all_leaves_out_what_is_for_runs_of_one_kind():
    answer = avoid("all", "deepspeed", {"deepspeed": "0.18.9"})
    assert "Muon" not in answer["fragment"]
    assert "for runs of one kind only: focus muon, moe, fsdp" in answer["notes"]


def test_a_framework_without_an_adapter_gets_words_and_no_fragment(monkeypatch):
    monkeypatch.delitem(index()["adapters"], "nemo-rl")
    answer = avoid("moe", "nemo-rl")
    assert answer["fragment"] == "" and answer["lines"]
    assert all(line["text"].startswith("# ") for line in answer["lines"])
    assert any("no native fragment is known for nemo-rl" in note for note in answer["notes"])


@pytest.mark.parametrize("name", ["megatron", "Megatron-LM", "megatron_core", "mcore"])
def test_the_names_of_a_framework_are_one(name):
    assert framework_of(name) == framework_of("megatron")
    assert any("emerging-optimizers 0.4.0" in line["text"] for line in avoid("muon", name)["lines"])


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("nan", "verll", {}), r"no framework 'verll' \(did you mean verl\?\)"),
        (("nan", "", {}), "name the framework"),
        (("speed", "verl", {}), "no focus 'speed': there are all, nan"),
        (("nan", "verl", {"verl": "new"}), "verl=new: not a version"),
    ],
)
def test_bad_input_is_one_line(arguments, says):
    with pytest.raises(InputError, match=says):
        avoid(*arguments)


# The data


def test_every_row_is_written_somewhere():
    """A row that no framework and release takes would be dead."""
    whys = {
        line["why"]
        for topic in TOPICS
        for name in [*FRAMEWORKS, "megatron"]
        for versions in ({}, *({"deepspeed": version} for version in BACKEND), *EXTRA.get(name, ()))
        for line in avoid(topic, name, versions)["lines"]
    }
    dead = [row["id"] for row in store.avoid()["rows"] if not any(" ".join(row["why"].split()) in why for why in whys)]
    assert dead == []


EXTRA = {
    "verl": ({"verl": "0.5.0"}, {"verl": "0.7.1"}, {"verl": "0.8.0"}, {"vllm": "0.18.0"}),
    "trl": ({"accelerate": "1.13.0"}, {"transformers": "5.2.0"}),
    "openrlhf": ({"openrlhf": "0.9.0"},),
    "megatron": ({"megatron-core": "0.17.0"},),
    "skyrl": ({"skyrl": "0.2.0"},),
}


def test_rows_stand_on_entries_that_may_raise_findings():
    for row in store.avoid()["rows"]:
        bugs = [store.bugs()[name] for name in row.get("bugs", ())]
        assert all(bug["verdict"] == "confirmed" for bug in bugs), row["id"]
        assert not (set(row["focus"]) & {"muon", "fsdp"}) or row.get("always") is False, row["id"]


def test_canonical_fields_exist():
    fields = {row["field"] for row in store.avoid()["rows"] if row.get("field")}
    assert fields <= set(index()["fields"])
