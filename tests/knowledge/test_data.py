"""Patterns, symptoms, GPUs and skills: their form, what they point to, and what their signatures must leave alone."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes
from re import _parser
from typing import Any

import pytest
import yaml

from grpo_guard.store.schema import Gpu, Pattern, Skill, Symptom

ROOT = Path(__file__).resolve().parents[2]
KNOWLEDGE = ROOT / "knowledge"
SKILLS_FOLDER = ROOT / "skills"
OLDEST = datetime.timedelta(days=180)  # older entries carry a note in the answer (tests/lookup)

# Keys that diagnose answers with: the 32 of the case list, and six for training dynamics.
PATTERN_KEYS = {
    "batch_arithmetic", "checkpoint_wrong_state", "collective_count_mismatch", "colocation_handover_oom",
    "cuda_stream_safety", "discrete_decision_mismatch", "engine_bookkeeping", "engine_control_hang",
    "expected_behaviour", "gpu_tensor_retention", "gradients_dropped_or_rescaled", "host_memory_growth",
    "kernel_or_hardware", "length_or_eos", "logprob_definition_mismatch", "lora_distortion",
    "loss_normalisation_count", "loss_term_unintended_or_inert", "muon_clipping", "optimizer_setup",
    "precision_overflow", "reward_code_silent_failure", "setting_key_or_default", "singleton_degeneration",
    "sleep_wake_state_loss", "stale_cache_after_update", "token_misalignment", "trainer_forward_inputs",
    "verifier_never_returns", "version_incompatibility", "weight_transfer_corruption", "weights_not_synced",
    "policy_collapse", "off_policy_drift", "reward_hacking", "uninformative_groups", "unstable_update", "no_learning",
}  # fmt: skip
SEED_CLASSES = {
    "cuda_stream_safety", "discrete_decision_mismatch", "execution_overlap_oom", "lora_distortion", "moe_fp16_nan",
    "muon_clipping", "singleton_degeneration", "stale_cache_corruption",
}  # fmt: skip
# The seeds' quick map of 8 rows, and the 6 rows of their playbook program ("NaN in loss" stands in both).
SEED_SYMPTOMS = {
    "nan_loss": "NaN in loss",
    "loss_flat": "Loss plateau",
    "grad_norm_growth": "Gradient norm to infinity",
    "reward_zero": "All rewards 0",
    "logprob_mismatch": "Log-prob mismatch, train vs rollout",
    "eos_missing": "EOS missing",
    "oom_fsdp2": "OOM on FSDP2",
    "moe_nan": "MoE NaN",
    "oom": "OOM",
    "reward_flat": "Reward flat",
    "crash_rollout": "Rollout engine crash",
    "silent_wrong_weights": "Silent weight corruption",
    "throughput_drop": "Throughput decay over time",
}
# What the seeds' diagnose programs for Muon and for mixtures of experts took as symptoms.
SEED_TOKENS = {
    "loss_plateau", "grad_norm_growth", "grad_norm_huge", "training_stall", "logprob_mismatch", "reward_instability",
    "nan_loss", "cuda_graph_error", "expert_0_samples", "inconsistent_routing", "model_output_zeros",
    "tp_2_plus_crash",
}  # fmt: skip
SEED_TRIGGERS = {"grpo-debug": 18, "cross-framework-avoidance": 19}
GPUS_NEEDED = {
    "rtx-3090", "rtx-4090", "rtx-5090", "a100-40gb", "a100-80gb", "l40s", "h100-sxm", "h200", "b200", "ascend-910b",
    "a10", "l4",
}  # fmt: skip


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


PATTERNS: list[dict[str, Any]] = loaded(KNOWLEDGE / "patterns.yaml")
SKILLS: list[dict[str, Any]] = loaded(KNOWLEDGE / "skills.yaml")
SYMPTOMS = {path.stem: loaded(path) for path in sorted((KNOWLEDGE / "symptoms").glob("*.yaml"))}
GPUS = {path.stem: loaded(path) for path in sorted((KNOWLEDGE / "gpus").glob("*.yaml"))}
BUGS = {path.stem: loaded(path) for path in sorted((KNOWLEDGE / "bugs").glob("*/*.yaml"))}
RULES = {path.stem for path in (KNOWLEDGE / "rules").glob("*.yaml")}
DATED = {**{entry["id"]: entry for entry in PATTERNS}, **SYMPTOMS, **GPUS}
SIGNED = {**SYMPTOMS, **{name: bug for name, bug in BUGS.items() if bug.get("signatures")}}
HEALTHY = [
    line
    for line in (Path(__file__).parent / "healthy_lines.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


# Form


@pytest.mark.parametrize("entry", PATTERNS, ids=lambda entry: entry["id"])
def test_a_pattern_fits_its_schema(entry):
    Pattern.model_validate(entry)


@pytest.mark.parametrize("name", SYMPTOMS)
def test_a_symptom_fits_its_schema_and_its_file_name(name):
    assert Symptom.model_validate(SYMPTOMS[name]).id == name


@pytest.mark.parametrize("name", GPUS)
def test_a_gpu_fits_its_schema_and_its_file_name(name):
    assert Gpu.model_validate(GPUS[name]).id == name


@pytest.mark.parametrize("entry", SKILLS, ids=lambda entry: entry["name"])
def test_a_skill_fits_its_schema(entry):
    Skill.model_validate(entry)


@pytest.mark.parametrize("name", DATED)
def test_no_entry_is_half_a_year_behind_the_newest(name):
    """So the test depends on what is committed, not on the day it runs."""
    newest = max(entry["last_verified"] for entry in DATED.values())
    assert newest - DATED[name]["last_verified"] <= OLDEST
    assert newest <= datetime.date.today()


# Completeness


def test_every_pattern_key_has_one_entry():
    assert Counter(entry["id"] for entry in PATTERNS) == Counter(PATTERN_KEYS)


def test_every_class_of_the_seeds_is_refined_by_one_pattern():
    assert Counter(entry["seed"] for entry in PATTERNS if "seed" in entry) == Counter(SEED_CLASSES)


def test_every_symptom_of_the_seeds_is_there_with_an_answer_to_its_claims():
    assert {name: entry["seed"] for name, entry in SYMPTOMS.items() if "seed" in entry} == SEED_SYMPTOMS
    assert all(SYMPTOMS[name]["claims"] for name in SEED_SYMPTOMS)


def test_every_word_of_the_seeds_programs_leads_to_one_symptom():
    """Where the word is also the name of a symptom, it need not be repeated."""
    tokens = Counter(token for entry in SYMPTOMS.values() for token in entry.get("tokens", ()))
    assert {token for token, count in tokens.items() if count > 1} == set()
    assert SEED_TOKENS - set(tokens) - set(SYMPTOMS) == set()


def test_every_symptom_that_a_bug_names_is_there():
    assert {slug for bug in BUGS.values() for slug in bug.get("symptoms", ())} - set(SYMPTOMS) == set()


def test_there_are_at_least_35_symptoms():
    assert len(SYMPTOMS) >= 35


def test_the_gpus_that_users_have_are_there():
    assert GPUS_NEEDED - set(GPUS) == set()


def test_the_skills_keep_the_triggers_of_the_seeds():
    assert {entry["name"]: len(entry["triggers"]) for entry in SKILLS} == SEED_TRIGGERS


# Links


@pytest.mark.parametrize("name", SYMPTOMS)
def test_every_lead_exists(name):
    known = {"pattern": PATTERN_KEYS, "bug": set(BUGS), "rule": RULES}
    leads = [(kind, lead[kind]) for lead in SYMPTOMS[name]["leads"] for kind in known if kind in lead]
    assert [(kind, target) for kind, target in leads if target not in known[kind]] == []
    assert [target for target, count in Counter(leads).items() if count > 1] == []


def test_every_bug_that_a_symptom_leads_to_may_raise_findings():
    """A refuted claim is no cause."""
    led_to = {lead["bug"] for entry in SYMPTOMS.values() for lead in entry["leads"] if "bug" in lead}
    assert {name for name in led_to if BUGS[name]["verdict"] not in ("confirmed", "reported", "changed")} == set()


@pytest.mark.parametrize("entry", SKILLS, ids=lambda entry: entry["name"])
def test_every_note_of_a_skill_exists(entry):
    assert [note for note in entry["notes"] if not (KNOWLEDGE / "notebook" / f"{note}.md").is_file()] == []


@pytest.mark.parametrize("name", DATED)
def test_references_are_links_and_say_what_they_are(name):
    references = DATED[name]["references"]
    assert all(reference["url"].startswith("https://") for reference in references)
    for reference in references:
        parts = reference["url"].split("/")
        if parts[2] == "github.com" and len(parts) > 5:
            expected = {"issues": {"issue"}, "pull": {"pull"}, "blob": {"source", "docs", "data"}, "commit": {"commit"}}
            assert reference["kind"] in expected[parts[5]], reference["url"]


# Phrasings


def test_no_phrasing_stands_in_two_symptoms():
    said = Counter(
        " ".join(phrase.casefold().split())
        for entry in SYMPTOMS.values()
        for phrases in entry["phrasings"].values()
        for phrase in phrases
    )
    assert [phrase for phrase, count in said.items() if count > 1] == []


@pytest.mark.parametrize("name", SYMPTOMS)
def test_chinese_phrasings_are_chinese(name):
    assert [p for p in SYMPTOMS[name]["phrasings"]["zh"] if not re.search(r"[\u4e00-\u9fff]", p)] == []
    assert [p for p in SYMPTOMS[name]["phrasings"]["en"] if re.search(r"[\u4e00-\u9fff]", p)] == []


# Signatures of symptoms and of bugs


@pytest.mark.parametrize("name", SIGNED)
def test_a_signature_matches_its_own_example(name):
    entry = SIGNED[name]
    pairs = zip(entry.get("signatures", ()), entry.get("examples", ()), strict=True)
    assert [signature for signature, example in pairs if not re.search(signature, example)] == []


@pytest.mark.parametrize("name", SIGNED)
def test_a_signature_matches_no_line_of_a_healthy_run(name):
    """In either case: the look-up ignores it."""
    hits = [
        (signature, line)
        for signature in SIGNED[name].get("signatures", ())
        for line in HEALTHY
        if re.search(signature, line, re.IGNORECASE)
    ]
    assert hits == []


@pytest.mark.parametrize("name", SIGNED)
def test_a_signature_is_short_and_repeats_nothing_that_repeats(name):
    signatures = SIGNED[name].get("signatures", ())
    assert [signature for signature in signatures if len(signature) > 200 or nested_repeats(signature)] == []


def test_nested_repeats_are_seen():
    assert nested_repeats(r"(a+)+b") and nested_repeats(r"(?:x\w*y)*") and nested_repeats(r"(\d{2,90}){3,}")
    assert not nested_repeats(r"a+b*c{2,9}(?:de)+") and not nested_repeats(r"(?:a{2})+")


def nested_repeats(pattern: str) -> bool:
    """Whether a repeat stands inside another repeat: matching could then take exponential time."""
    return any(inside for inside in _repeats(_parser.parse(pattern), inside=False))


def _repeats(tree: Any, inside: bool) -> Iterator[bool]:
    """For each repeat of variable length, whether it stands inside another one."""
    for code, argument in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, body = argument
            varies = least != most and most > 1
            if varies:
                yield inside
            yield from _repeats(body, inside or most > 1)
        elif code is codes.SUBPATTERN:
            yield from _repeats(argument[-1], inside)
        elif code is codes.BRANCH:
            for branch in argument[1]:
                yield from _repeats(branch, inside)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _repeats(argument[1], inside)
