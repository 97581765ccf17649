"""knowledge/proofs/: each text has its check, and what it points to is there."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from grpo_guard.lookup.explain import explain
from grpo_guard.proofs import qwen
from grpo_guard.store import lookup as store
from grpo_guard.store.index import index

SERVER = Path(__file__).parents[2] / "server" / "proofs"
PROOFS = {entry["id"]: entry for entry in store.proofs()}
# Rules of the seeds that state something one can calculate: a formula, a number, a share, an order.
MATHEMATICAL = {
    "D01", "D02", "D03", "D04", "D07", "D08", "D10", "D12", "D13", "D16", "D17", "D19",
    "N01", "N02", "N03", "N05", "N07", "N08", "N09", "N11", "N13", "N14", "N16",
}  # fmt: skip
TOPICS = {
    "muon-clipping", "group-size-one", "group-size-snr", "degenerate-groups", "half-precision-softmax",
    "top-k-mismatch",
    "lora-scaling", "stream-order", "zero-memory", "bypass-mode", "kl-estimators", "ratio-clipping",
}  # fmt: skip


def test_the_twelve_topics_are_there():
    assert set(PROOFS) >= TOPICS


def test_every_text_has_its_check_and_every_check_its_text():
    modules = {path.stem.replace("_", "-") for path in SERVER.glob("*.py")} - {
        "--init--",
        "answer",
        "case",
        "product",
        "qwen",
    }
    assert modules == set(PROOFS)


def test_every_rule_of_the_seeds_that_one_can_calculate_has_a_proof():
    covered = {row for entry in PROOFS.values() for row in entry.get("seed", ())}
    assert covered >= MATHEMATICAL


@pytest.mark.parametrize("entry", PROOFS.values(), ids=PROOFS)
def test_what_it_points_to_is_there(entry):
    rules = {rule["id"] for rule in index()["rules"]}
    assert set(entry.get("rules", ())) <= rules
    assert set(entry.get("bugs", ())) <= set(store.bugs())
    assert set(entry.get("patterns", ())) <= set(store.patterns())


@pytest.mark.parametrize("entry", PROOFS.values(), ids=PROOFS)
def test_it_derives_in_steps_from_stated_assumptions(entry):
    assert len(entry["derivation"]) >= 4
    assert entry["assumptions"]
    assert len(entry["statement"]) >= 150


def test_the_model_of_the_figures_is_the_one_of_the_memory_estimate():
    path = SERVER.parents[1] / "knowledge" / "models" / "qwen2-5-7b.yaml"
    model = yaml.safe_load(path.read_text(encoding="utf-8"))
    width, inner, keys = model["hidden"], model["intermediate"], model["kv_heads"] * model["head_dim"]
    linear = (
        (width, width),
        (width, keys),
        (width, keys),
        (width, width),
        (width, inner),
        (width, inner),
        (inner, width),
    )
    biases = width + 2 * keys
    layer = sum(inputs * outputs for inputs, outputs in linear) + biases + 2 * width
    assert (model["layers"], linear) == (qwen.LAYERS, qwen.LINEAR)
    assert pytest.approx(model["layers"] * layer + 2 * model["vocab"] * width + width, rel=1e-5) == qwen.PARAMETERS


def test_phrasings_are_of_one_proof_only():
    said = [phrase.lower() for entry in PROOFS.values() for phrase in entry["phrasings"]]
    assert len(said) == len(set(said))


@pytest.mark.parametrize(
    "asked, view, expected",
    [
        ("D07", "theory", {"group-size-one", "group-size-snr"}),
        ("deepspeed-8439", "theory", {"muon-clipping"}),
        ("kl-in-loss-and-reward", "theory", {"kl-estimators"}),
        ("muon_clipping", "theory", {"muon-clipping"}),
        ("megatron-5394", "bug", {"muon-clipping"}),
    ],
)
def test_explain_leads_to_the_proof(asked, view, expected):
    chain = explain(asked, view)["chain"]
    assert {link["id"] for link in chain if link["kind"] == "proof"} >= expected


def test_explain_goes_from_a_proof_to_bugs_and_rules():
    chain = [(link["kind"], link["id"]) for link in explain("kl-estimators")["chain"]]
    assert chain[0] == ("proof", "kl-estimators")
    assert {("bug", "verl-kl-two-places"), ("rule", "kl-in-loss-and-reward")} <= set(chain)


def test_a_decision_names_its_proof():
    chain = explain("zero3-on-one-gpu", "decision")["chain"]
    assert ("proof", "zero-memory") in [(link["kind"], link["id"]) for link in chain]


@pytest.mark.parametrize("name", PROOFS)
def test_explain_says_what_the_proof_states(name):
    entry = PROOFS[name]
    (about, *_) = entry["about"]
    links = [link for link in explain(about, "theory")["chain"] if (link["kind"], link["id"]) == ("proof", name)]
    assert len(links) == 1
    assert links[0]["text"].startswith(entry["title"])
    assert links[0]["references"]
