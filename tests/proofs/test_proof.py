"""proof: finding a topic, the fields of its answer, and how much it says."""

from __future__ import annotations

import json

import pytest

from grpo_guard.cli import main
from grpo_guard.configs.values import InputError
from grpo_guard.lookup.short import size
from grpo_guard.proofs.answer import find, proof
from grpo_guard.store import lookup as store
from grpo_guard.tools.proof import TOOL

IDS = [entry["id"] for entry in store.proofs()]
BRIEF = 3_200  # characters, about 800 tokens


def cases_of(name: str) -> dict[str, dict]:
    return {case["input"]: case for case in proof(name)["check"]["cases"]}


def test_without_a_query_it_lists_them():
    rows = proof()["proofs"]
    assert [row["id"] for row in rows] == IDS
    assert set(rows[0]) == {"id", "title", "claim", "answer"}


def test_the_answer_has_the_fields_of_the_contract():
    answer = proof("degenerate-groups")
    assert {"id", "claim", "answer", "statement", "derivation", "check", "references"} <= set(answer)
    assert answer["answer"] == "wrong"
    assert set(answer["check"]) == {"does", "cases", "pass", "seconds"}
    assert set(answer["check"]["cases"][0]) == {"input", "expected", "got", "tolerance", "pass"}
    assert answer["check"]["pass"] is True
    assert 0 <= answer["check"]["seconds"] < 5


@pytest.mark.parametrize(
    "query, expected",
    [
        ("softmax overflow", "half-precision-softmax"),
        ("sofmax overflw", "half-precision-softmax"),
        ("65504", "half-precision-softmax"),
        ("moe nan fp16", "half-precision-softmax"),
        ("gs=1", "group-size-one"),
        ("rollout.n=1", "group-size-one"),
        ("muon clipping", "muon-clipping"),
        ("Newton Schulz eps", "muon-clipping"),
        ("sqrt(gs) signal to noise", "group-size-snr"),
        ("all rewards in a group are equal", "degenerate-groups"),
        ("zero advantage", "degenerate-groups"),
        ("why record_stream", "stream-order"),
        ("zero-3 on one gpu", "zero-memory"),
        ("dp=1", "zero-memory"),
        ("18 psi", "bypass-mode"),
        ("skip old_log_prob", "bypass-mode"),
        ("low_var_kl", "kl-estimators"),
        ("k3", "kl-estimators"),
        ("dual clip", "ratio-clipping"),
        ("clip higher", "ratio-clipping"),
        ("rslora", "lora-scaling"),
        ("lora rank 64 eos", "lora-scaling"),
        ("moe routing differs between trainer and rollout", "top-k-mismatch"),
        ("grad clip 0.0", "gradient-clipping"),
        ("shaped reward", "reward-shaping"),
        ("group by prompt", "group-by-prompt"),
        ("65.06 GiB", "clipped-loss-memory"),
        ("lora delta sync", "weight-sync-size"),
        ("梯度裁剪", "gradient-clipping"),
        ("权重同步", "weight-sync-size"),
        ("kl-estimators", "kl-estimators"),
        ("KL-Estimators", "kl-estimators"),
    ],
)
def test_words_find_their_topic(query, expected):
    assert find(query)[0]["id"] == expected


@pytest.mark.parametrize("entry", store.proofs(), ids=lambda entry: entry["id"])
def test_its_own_phrasings_find_it(entry):
    queries = (entry["title"], *entry["phrasings"])
    assert {query: find(query)[0]["id"] for query in queries} == dict.fromkeys(queries, entry["id"])


@pytest.mark.parametrize(
    "query, first, others",
    [
        ("D07", "group-size-one", ["group-size-snr"]),
        ("n17", None, None),
        ("deepspeed-8439", "muon-clipping", []),
        ("one-sample-groups", "group-size-one", []),
        ("muon_clipping", "muon-clipping", []),
    ],
)
def test_what_a_proof_stands_behind_finds_it(query, first, others):
    if first is None:
        with pytest.raises(InputError, match="no proof is about 'n17'"):
            find(query)
    else:
        entry, rest = find(query)
        assert (entry["id"], rest) == (first, others)


def test_what_no_proof_is_about_names_those_there_are():
    with pytest.raises(InputError, match=r"no proof is about 'banana bread': there are bypass-mode, .*, zero-memory"):
        proof("banana bread")


# What must hold, to the digit.


def test_exp_overflows_half_precision_at_11_09():
    assert cases_of("half-precision-softmax")["float16: exp is finite up to ln 65504"]["got"] == 11.0899


def test_share_of_degenerate_groups():
    assert cases_of("degenerate-groups")["p = 0.3, G = 8: share of uniform groups"]["got"] == pytest.approx(
        0.0577, abs=5e-5
    )


def test_one_sample_by_framework():
    cases = cases_of("group-size-one")
    assert cases["verl grpo, G = 1, reward 0.8"]["got"] == pytest.approx(0.8, abs=1e-5)
    assert cases["rLLM grpo, G = 1, reward 0.8"]["got"] == pytest.approx(0.8, abs=1e-5)
    assert cases["TRL in training, G = 1"]["got"] == "refused"
    assert cases["OpenRLHF group_norm, G = 1"]["got"] == "refused"
    assert cases["sample standard deviation without a guard, G = 1"]["got"] == "nan"


def test_figures_of_the_zero_paper():
    (case,) = (case for name, case in cases_of("zero-memory").items() if "the paper's figures" in name)
    assert [round(value, 1) for value in case["got"]] == [120.0, 31.4, 16.6, 1.9]


# How much it says.


@pytest.mark.parametrize("name", IDS)
def test_a_short_answer_is_short_and_says_what_it_left_out(name):
    short = proof(name, detail="brief")
    assert size(short) <= BRIEF
    assert {"id", "claim", "answer", "statement", "derivation", "check", "references"} <= set(short)
    assert len(short["check"]["cases"]) == 5
    assert any(note.startswith("cut: ") and "cases" in note for note in short["notes"])


def test_a_failing_case_is_in_the_short_answer(monkeypatch):
    monkeypatch.setattr("grpo_guard.proofs.degenerate_groups.advantages", lambda successes, group: (0.0, 0.0))
    check = proof("degenerate-groups", detail="brief")["check"]
    assert check["pass"] is False
    assert [case["pass"] for case in check["cases"][:2]] == [False, False]


def test_the_list_is_short_enough():
    assert size(proof(detail="brief")) <= BRIEF


def test_the_tool_answers_short_and_with_text():
    answer = TOOL.call({"id": "gs=1"}, None)
    assert answer.data["id"] == "group-size-one"
    assert answer.text.startswith("group-size-one: Group size one, framework by framework\n")
    assert "check passes in" in answer.text


def test_the_command_line_prints_text(capsys):
    assert main(["proof", "softmax", "overflow"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("half-precision-softmax: Softmax in half precision\n")
    assert "  ok   float16: exp is finite up to ln 65504: 11.0899, expected 11.0899 (within 0.0001)\n" in printed


def test_the_command_line_prints_json_with_numbers_that_are_not_finite_as_text(capsys):
    assert main(["proof", "gs=1", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"bare {name}"))
    assert "nan" in [case["got"] for case in answer["check"]["cases"]]


def test_the_command_line_refuses_what_it_does_not_know(capsys):
    assert main(["proof", "banana"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("grpo-guard: no proof is about 'banana': there are ")
    assert captured.err.count("\n") == 1
