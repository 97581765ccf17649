"""rtx4090: reports that are computed, with configs that our own tools accept."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.memory.cards import card
from grpo_guard.memory.estimate import estimate
from grpo_guard.render.card import card_text
from grpo_guard.rtx4090.launches import VERSIONS
from grpo_guard.rtx4090.report import TOPICS, report
from grpo_guard.store import lookup as store
from grpo_guard.store import memory as data
from grpo_guard.validate import validate_text


def lines(topic: str, gpu: str = "", title: str = "") -> str:
    found = report(topic, gpu)
    return "\n".join(
        f"{section['title']}\n" + "\n".join(section["lines"])
        for section in found["sections"]
        if title.lower() in section["title"].lower()
    )


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("gpu", ["4090", "L40S", "H100", "910B"])
def test_every_topic_has_an_answer_for_every_card(topic, gpu):
    found = report(topic, gpu)
    assert found["gpu"]["id"] == card(gpu).id
    assert found["sections"]
    assert all(section["title"] and section["lines"] for section in found["sections"])
    assert card_text(found).startswith(f"{topic} on one {card(gpu).title}")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_short_answer_is_short(topic):
    found = json.dumps(report(topic, detail="brief"), separators=(",", ":"), ensure_ascii=False)
    assert len(found) <= (4_500 if topic == "config" else 3_300)


def test_the_same_question_gives_the_same_answer():
    assert report("config") == report("config")


@pytest.mark.parametrize("topic, near", [("confg", "config"), ("mao", "moe"), ("stream", "streams")])
def test_an_unknown_topic_names_the_nearest(topic, near):
    with pytest.raises(InputError, match=f"did you mean {near}"):
        report(topic)


def test_an_unknown_card_names_the_nearest():
    with pytest.raises(InputError, match="did you mean h100"):
        report("config", "H-1000")


# config ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["4090", "A10", "L40S", "H100"])
def configs(request) -> list[dict]:
    return [{**row, "gpu": request.param} for row in report("config", request.param)["configs"]]


def test_there_are_launchable_configs_of_several_sizes_for_both_frameworks(configs):
    for framework in ("verl", "trl"):
        assert len({row["model"] for row in configs if row["framework"] == framework}) >= 4


def test_every_config_passes_our_own_validation(configs):
    for row in configs:
        found = validate_text(row["text"], versions=VERSIONS[row["framework"]], gpu=row["gpu"], world_size=1)
        assert found.framework == row["framework"]
        told = [(finding.rule, finding.message) for finding in found.findings if finding.severity != "info"]
        assert (row["model"], told, found.unknown_keys) == (row["model"], [], [])
        assert row["validation"] == {"error": 0, "warning": 0, "rules": []}


def test_every_config_fits_by_our_own_estimate(configs):
    for row in configs:
        found = estimate(config=row["text"], gpu=row["gpu"])
        assert (row["model"], found["failing"]) == (row["model"], [])
        assert found["peak_gib"] == row["peak_gib"]
        assert found["error_band"]["high"] <= found["gpu"]["usable_gib"]


def test_every_engine_has_room_for_one_answer_at_least(configs):
    for row in configs:
        assert estimate(config=row["text"], gpu=row["gpu"])["rollout"]["sequences_at_once"] >= 1


def test_seven_billion_with_two_copies_on_24_gb_is_said_not_to_fit():
    assert re.search(r"Qwen2.5-7B-Instruct: does not fit; \w+: 3\d\.\d GiB of 23\.5 GiB", lines("config", title="trl"))
    assert "Qwen2.5-7B-Instruct: fits, offload policy" in lines("config", title="verl on")


def test_the_seeds_recipe_can_neither_be_launched_nor_fit():
    told = lines("config", title="seeds' recipe")
    assert "verl has no DeepSpeed engine" in told
    assert "verl stops at start-up: it does not know actor_rollout_ref.actor.deepspeed_config" in told
    assert len(re.findall("does not fit 23.5 GiB", told)) == 3
    assert "16.24 GiB left out the engine's own copy of the weights" in told


# zero, fsdp, moe, muon ------------------------------------------------------------------------------------------------


def test_no_stage_saves_anything_on_one_card():
    rows = [row for row in report("zero")["memory"] if "stage_0" in row]
    assert rows
    for row in rows:
        assert len({row[f"stage_{stage}"] for stage in range(4)}) == 1
    assert {row["model"]: row["stage_2"] for row in rows}["Qwen2.5-7B"] == pytest.approx(
        16 * 7.6156e9 / 1024**3, abs=0.1
    )


def test_offload_is_what_saves_and_only_stage_three_offloads_weights():
    told = lines("zero", title="offload")
    assert "Qwen2.5-7B: optimizer on the host (stage 1 to 3) 14.2" in told
    assert "offload_param exists in stage 3 only" in told


def test_fsdp_shows_where_the_double_copy_ends():
    ways = {row["way"]: row for row in report("fsdp")["memory"]
            if row["model"].startswith("Qwen2.5-7B") and row["training"].startswith("LoRA")}  # fmt: skip
    assert not ways["offload between phases"]["fits"]
    assert ways["offload between phases"]["peak_phase"] == "weight sync"
    assert ways["FSDP2 offload policy"]["fits"]


@pytest.mark.parametrize(
    "model, bf16, fits",
    [("Qwen3-30B-A3B", 56.9, ["4 bit"]), ("Mixtral-8x7B-v0.1", 87.0, []), ("DeepSeek-V3", 1249.9, [])],
)
def test_all_experts_are_resident(model, bf16, fits):
    row = next(row for row in report("moe")["memory"] if row["model"] == model)
    assert (row["bf16_gib"], row["fits"]) == (pytest.approx(bf16, abs=0.1), fits)


def test_every_mixture_of_experts_of_the_data_is_judged():
    known = {entry["names"][0] for entry in data.models().values() if entry.get("experts")}
    assert {row["model"] for row in report("moe")["memory"]} == known


def test_router_advice_is_about_rounding_not_overflow():
    assert "the softmax itself subtracts the maximum and does not overflow" in lines("moe")


def test_muon_saves_a_fifth_and_nothing_with_lora():
    row = next(row for row in report("muon")["memory"] if row["model"] == "Qwen2.5-7B")
    assert (row["adam_gib"], row["verdict"]) == (pytest.approx(113.5, abs=0.1), "neither fits")
    assert 0.15 < 1 - row["muon_gib"] / row["adam_gib"] < 0.26
    assert "With LoRA there is nothing to save" in lines("muon")


# nan, streams, knowledge, playbook ------------------------------------------------------------------------------------


def test_a_card_of_capability_8_9_needs_no_fp16():
    assert "Compute capability 8.9: bf16 in hardware" in lines("nan")


def test_bugs_of_another_accelerator_cannot_happen():
    told = lines("streams", "4090")
    assert "vllm-ascend-13394: cannot happen; another kind of accelerator" in told
    assert "can happen; deepspeed-8061 [fixed in deepspeed 0.19.3]" in told
    assert "can happen; vllm-ascend-13394" in lines("streams", "910B")


def test_every_stream_bug_of_the_table_is_judged():
    told = lines("streams")
    for kind in store.table("streams")["kinds"]:
        assert all(id in told for id in kind["bugs"] if id in store.bugs())


def test_all_36_decisions_stand_once_under_our_answer():
    told = lines("knowledge")
    ids = [f"D{number:02}" for number in range(1, 20)] + [f"N{number:02}" for number in range(1, 18)]
    assert [told.count(f"\n{id} ") for id in ids] == [1] * 36
    assert "N06 FSDP2: " in lines("knowledge", title="Do not hold")


@pytest.mark.parametrize("part", ["Before the launch", "NaN", "Out of memory", "Flat reward", "Monitoring"])
def test_the_playbook_has_all_procedures(part):
    assert lines("playbook", title=part)


@pytest.mark.parametrize(
    "title, check, answer",
    [
        ("If NaN appears", "overlap_comm must be False", "needs torch.compile and DeepSpeed below 0.19.3"),
        ("If NaN appears", "gradient_clipping must be 1.0", "is 1.0 since 0.19.3"),
        ("If NaN appears", "gating dtype must be FP32 (MoE)", "not because of softmax overflow"),
        ("If NaN appears", "LoRA rank must be 32", "vLLM serves ranks up to 512"),
        ("If there is a plateau", "the optimizer must not be Muon", "Not a ban"),
        ("If there is a plateau", "clip_grad must not be 0.0", "0 means off, as documented"),
        ("If there is a plateau", "group_size must be 4 or more", "2 and 3 are valid and used"),
    ],
)
def test_the_seeds_two_lists_are_there_and_corrected(title, check, answer):
    (line,) = [line for line in lines("playbook", title=title).splitlines() if f"'{check}'" in line]
    assert answer in line


def test_monitoring_has_figures_and_their_metrics():
    assert "training/rollout_probs_diff_mean`: below 0.005" in lines("playbook", title="Monitoring")


def test_the_command_line_prints_the_report(tmp_path):
    command = [sys.executable, "-m", "grpo_guard", "rtx4090", "config", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["configs"]) >= 8
    refused = subprocess.run([*command[:-3], "confg"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "did you mean config" in refused.stderr
