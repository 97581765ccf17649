"""What the look-ups answer: the contract's fields, short by default, complete in full, every cut announced."""

from __future__ import annotations

import datetime
import json
from itertools import pairwise, product

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.lookup import entries, names
from grpo_guard.lookup.explain import explain
from grpo_guard.lookup.fixes import fixes
from grpo_guard.lookup.matrix import VIEWS, matrix
from grpo_guard.lookup.notes import read_reference
from grpo_guard.lookup.playbook import playbook
from grpo_guard.lookup.skills import match_skill
from grpo_guard.lookup.symptoms import symptoms
from grpo_guard.render.lookups import TEXTS
from grpo_guard.store import lookup as store

SEED_BUGS = [
    "deepspeed-8061", "deepspeed-8068", "deepspeed-7776", "megatron-5394", "megatron-5395", "megatron-5384",
    "megatron-5386", "vllm-45552", "vllm-46125", "verl-6782", "verl-6772", "verl-6468", "rllm-605", "rllm-663",
    "rllm-667", "rllm-668", "sglang-28499", "sglang-28566", "vllm-ascend-10579",
]  # fmt: skip
SEED_SYMPTOMS = [
    "nan_loss", "loss_flat", "grad_norm_growth", "reward_zero", "logprob_mismatch", "eos_missing", "oom_fsdp2",
    "moe_nan",
]  # fmt: skip
TOKENS_600, TOKENS_800 = 2_400, 3_200  # characters


def size(answer) -> int:
    return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


def cut(answer) -> list[str]:
    return [note for note in answer.get("notes", ()) if note.startswith("cut: ")]


# symptoms


def test_the_map_begins_with_the_seeds_eight_and_each_has_ranked_causes():
    rows = symptoms()["symptoms"]
    assert [row["id"] for row in rows][:8] == SEED_SYMPTOMS
    assert len(rows) >= 35
    for row in rows:
        assert row["title"] and row["fix"] and row["question"] and row["not_a_fault_if"] and row["references"]
        assert all({"bug", "rule", "pattern"} & set(cause) and cause["why"] for cause in row["likely"])


def test_each_of_the_seeds_eight_answers_what_they_claim():
    rows = {row["id"]: row for row in symptoms()["symptoms"]}
    assert all(rows[name]["claims"] for name in SEED_SYMPTOMS)


def test_a_query_gives_the_best_match_with_score_causes_and_first_aid():
    (best, *_), shown = symptoms("loss is nan", detail="brief")["symptoms"], symptoms("loss is nan")
    assert (best["id"], best["score"]) == ("nan_loss", 1.0)
    assert list(best["likely"][0]) == ["why", "pattern"]
    assert {"fix", "question", "not_a_fault_if", "references"} <= set(best)
    assert [row["score"] for row in shown["symptoms"]] == sorted(
        (row["score"] for row in shown["symptoms"]), reverse=True
    )


def test_a_log_line_finds_its_symptom_by_signature():
    line = "ray.exceptions.RayTaskError: OSError: [Errno 24] Too many open files: '/dev/shm/x'"
    assert symptoms(line)["symptoms"][0]["id"] == "too_many_open_files"


def test_what_is_like_nothing_is_said():
    answer = symptoms("the weather in Paris tomorrow")
    assert answer["symptoms"] == []
    assert answer["notes"][0].startswith("no known symptom is like this")


def test_a_limit_is_kept_and_the_cut_is_announced():
    answer = symptoms("out of memory", limit=2)
    assert len(answer["symptoms"]) == 2
    assert cut(answer)


# playbook


@pytest.mark.parametrize("name", sorted(names.known_patterns()))
def test_every_pattern_has_steps(name):
    answer = playbook(name)
    assert answer["topic"] == name
    assert answer["steps"] and all(step["do"] for step in answer["steps"])
    assert answer["references"]


@pytest.mark.parametrize("name", sorted(set(store.symptoms()) - set(names.known_patterns())))
def test_every_symptom_has_steps(name):
    answer = playbook(name)
    assert (answer["topic"], answer["kind"]) == (name, "symptom")
    assert len(answer["steps"]) >= 3


@pytest.mark.parametrize(
    "topic, kind, name",
    [
        ("execution_overlap_oom", "pattern", "colocation_handover_oom"),  # the seeds' class
        ("CUDA stream safety", "pattern", "cuda_stream_safety"),
        ("cuda stream safty", "pattern", "cuda_stream_safety"),
        ("verl", "framework", "verl"),
        ("MindIE", "framework", "vllm-ascend"),
        ("Megatron-LM", "framework", "megatron"),
        ("FSDP", "guide", "fsdp"),
        ("fsdp2", "guide", "fsdp"),
        ("#6782", "bug", "verl-6782"),
        ("reward is always zero", "symptom", "reward_zero"),
        ("奖励全是 0", "symptom", "reward_zero"),
    ],
)
def test_a_topic_may_be_named_in_many_ways(topic, kind, name):
    answer = playbook(topic)
    assert (answer["kind"], answer["topic"]) == (kind, name)


def test_the_overview_has_a_step_for_every_pattern():
    answer = playbook()
    assert {row["id"] for row in answer["patterns"]} == set(names.known_patterns())
    told = {step["why"].partition(":")[0] for step in answer["steps"] if step.get("why")}
    assert set(store.patterns()) <= told


def test_the_choice_between_fsdp1_and_fsdp2_goes_by_versions_lora_offload_and_ranks():
    told = " ".join(step["do"] for step in playbook("fsdp", detail="brief")["steps"])
    assert all(word in told for word in ("torch below", "LoRA", "host memory", "One GPU", "Several ranks"))


def test_an_unknown_topic_is_one_line_with_a_way_on():
    with pytest.raises(InputError, match="no playbook for 'qwertz': name a pattern, symptom, framework, bug or fsdp"):
        playbook("qwertz")


# fixes


@pytest.mark.parametrize("name", SEED_BUGS)
def test_every_id_of_the_seeds_is_answered_with_their_claims(name):
    (row,) = fixes(bug=name)["fixes"]
    assert row["bug"] == name
    assert row["claims"] and all(
        claim["answer"] in ("right", "conditional", "outdated", "wrong") for claim in row["claims"]
    )
    assert row["status"] and row["fix"] and row["references"]


@pytest.mark.parametrize(
    "text",
    ["verl-6782", "VERL-6782", "verl#6782", "verl-project/verl#6782", "#6782", "6782", "verl 6782",
     "https://github.com/verl-project/verl/issues/6782"],
)  # fmt: skip
def test_a_bug_may_be_named_in_many_ways(text):
    assert fixes(bug=text)["fixes"][0]["bug"] == "verl-6782"


def test_a_fix_has_versions_and_a_workaround():
    (row,) = fixes(bug="verl-6782")["fixes"]
    assert row["affected"] == {"verl": ">=0.7.1,<0.9.0"}
    assert (row["status"], row["fixed_in"]) == ("fixed", {"verl": "0.9.0"})
    assert "merge=False" in row["workaround"]


def test_an_unknown_bug_is_one_line_with_the_nearest():
    with pytest.raises(InputError, match=r"no bug 'verl-67822' \(did you mean verl-6782\?\)"):
        fixes(bug="verl-67822")


def test_a_number_of_several_projects_is_asked_back(monkeypatch):
    two = {name: store.bugs()["verl-6782"] for name in ("trl-77", "verl-77")}
    monkeypatch.setattr(store, "bugs", lambda: two)
    with pytest.raises(InputError, match="#77 is a number of several projects: name one of trl-77, verl-77"):
        names.bug("#77")


def test_pages_of_all_fixes_go_through_every_bug_once_grouped_by_pattern():
    seen, offset = [], 0
    while offset is not None:
        page = fixes(offset=offset, detail="brief")
        seen += page["fixes"]
        offset = page.get("next_offset")
    assert len({row["bug"] for row in seen}) == len(seen) == page["total"] == len(store.bugs())
    changes = sum(a["pattern"] != b["pattern"] for a, b in pairwise(seen))
    assert changes == len({row["pattern"] for row in seen}) - 1


def test_fixes_of_a_pattern_are_of_that_pattern():
    answer = fixes(pattern="execution_overlap_oom")
    assert {row["pattern"] for row in answer["fixes"]} == {"colocation_handover_oom"}


# matrix


def test_every_bug_stands_in_one_cell_under_its_own_repository():
    placed = {bug["id"]: (cell["pattern"], cell["framework"]) for cell in matrix()["cells"] for bug in cell["bugs"]}
    assert placed == {name: (bug["pattern"], bug["package"]) for name, bug in store.bugs().items()}
    assert sum(len(cell["bugs"]) for cell in matrix()["cells"]) == len(store.bugs())


def test_the_matrix_answers_the_36_rules():
    rows = matrix()["rows"]
    assert [row["id"] for row in rows] == [f"D{n:02}" for n in range(1, 20)] + [f"N{n:02}" for n in range(1, 18)]


def test_the_short_matrix_names_every_class_of_the_seeds():
    answer = matrix(detail="brief")
    assert set(answer["patterns"]) >= set(entries.SEED_PATTERNS[:7])
    assert sum(len(row["rules"]) for row in answer["rows"]) == 36


def test_stream_faults_are_split_and_none_is_left_out():
    rows = matrix("streams")["rows"]
    kinds = {row["kind"]: row["bugs"] for row in rows if "bugs" in row}
    assert list(kinds) == ["order", "lifetime", "unmap"]
    members = [bug for bugs in kinds.values() for bug in bugs]
    elsewhere = {row["bug"] for row in rows if row["kind"] == "something else"}
    assert len(members) == len(set(members))
    assert {bug["id"] for bug in entries.of_pattern("cuda_stream_safety")} <= set(members) | elsewhere
    assert "deepspeed-8061" in kinds["order"] and "vllm-45552" in kinds["unmap"]


def test_streams_compared_have_cause_fix_and_version():
    rows = [row for row in matrix("streams", compare=True)["rows"] if row["kind"] != "something else"]
    assert all(row["cause"] and row["fix"] and row["status"] for row in rows)
    assert {"deepspeed", "vllm", "megatron", "sglang"} <= {row["framework"] for row in rows}


def test_fsdp1_and_fsdp2_stand_side_by_side_with_version_bound_bugs():
    answer = matrix("fsdp")
    assert all(row["fsdp1"] and row["fsdp2"] and row["references"] for row in answer["rows"])
    told = " ".join(bug for row in answer["rows"] for bug in row.get("bugs", ()))
    assert "verl-6782 (verl >=0.7.1,<0.9.0, fixed)" in told


def test_the_moe_table_answers_the_seeds_four_platforms():
    rows = matrix("moe")["rows"]
    assert [row["answer"] for row in rows] == ["wrong", "conditional", "conditional", "right"]
    assert all(row["seed"] and row["cause"] and row["fix"] and row["references"] for row in rows)


def test_cross_has_related_bugs_rules_and_frameworks():
    relations = {row["relation"] for row in matrix(bug="verl#6782")["rows"]}
    assert relations == {"bug", "related", "rule", "seed rule", "same pattern elsewhere"}


def test_versions_are_in_order_and_name_what_they_fix():
    rows = [row for row in matrix("versions")["rows"] if row["kind"] == "fixes" and row["package"] == "verl"]
    assert [row["version"] for row in rows][:2] == ["0.9.1", "0.9.0"]
    assert "verl-6782" in next(row for row in rows if row["version"] == "0.9.0")["fixes"]


def test_cross_without_a_bug_and_an_unknown_view_are_one_line():
    with pytest.raises(InputError, match="view cross needs a bug"):
        matrix("cross")
    with pytest.raises(InputError, match="no view 'x': there are default, streams"):
        matrix("x")


# The seeds' two tables


def test_every_cell_of_the_seeds_tables_is_there_and_answered():
    cells = matrix(compare=True)["rows"]
    assert len(cells) == 34
    assert {cell["bug"] for cell in cells if "bug" in cell} <= set(store.bugs())
    assert all(cell["why"] for cell in cells if cell["differs"])


@pytest.mark.parametrize(
    "bug, reason",
    [
        ("verl-6782", "the fault is in verl, not vllm"),
        ("verl-6772", "the fault is in verl, not vllm-ascend"),
        ("deepspeed-7776", "the fault is in deepspeed, not verl"),
        ("sglang-28499", "the fault is in sglang, not pytorch"),
        ("vllm-ascend-10579", "the fault is in vllm-ascend, not vllm"),
    ],
)
def test_explain_says_why_the_matrix_differs_from_theirs(bug, reason):
    (link,) = [link for link in explain(bug)["chain"] if link["kind"] == "seed_table"]
    assert reason in link["text"]


# explain


def test_a_bug_is_explained_from_mechanism_to_decision():
    kinds = [link["kind"] for link in explain("verl-6782")["chain"]]
    assert kinds[:2] == ["bug", "claim"]
    assert {"pattern", "rule", "seed", "seed_table", "note"} <= set(kinds)


def test_without_an_id_every_rule_of_the_seeds_is_justified():
    chain = explain(view="decision")["chain"]
    assert len(chain) == 36
    assert all("Answer: " in link["text"] for link in chain)


@pytest.mark.parametrize(
    "name", ["D08", "n05", "lora-merge-stale-weights", "muon_clipping", "lora_distortion", "nan_loss"]
)
@pytest.mark.parametrize("view", ["theory", "bug", "decision", "cross"])
def test_rules_patterns_symptoms_and_rows_are_explained_in_every_view(name, view):
    answer = explain(name, view)
    assert answer["chain"][0]["id"].lower() == (names.pattern(name) or name).lower()
    assert len(answer["chain"]) > 1
    links = [(link["kind"], link["id"]) for link in answer["chain"]]
    assert len(links) == len(set(links))


def test_messages_are_told_without_placeholders():
    for rule in entries.rules():
        assert "{" not in explain(rule)["chain"][0]["text"], rule


def test_a_derivation_that_is_not_there_is_not_claimed(monkeypatch):
    monkeypatch.setattr(store, "proofs", list)
    assert "no derivation with a numeric check covers this yet" in explain("muon_clipping", "theory")["notes"]
    proof = {"id": "muon-clipping", "title": "Clipping and Muon", "about": ["muon_clipping"]}
    proof |= {"statement": "A scalar changes no polar factor.", "sources": []}
    monkeypatch.setattr(store, "proofs", lambda: [proof])
    answer = explain("muon_clipping", "theory")
    assert ("proof", "muon-clipping") in [(link["kind"], link["id"]) for link in answer["chain"]]
    assert "notes" not in answer


def test_the_same_elsewhere_is_elsewhere():
    chain = explain("deepspeed-8061", "cross")["chain"]
    related = store.bugs()["deepspeed-8061"].get("related", [])
    others = [link["id"] for link in chain[1:] if link["kind"] == "bug" and link["id"] not in related]
    assert others
    assert all(store.bugs()[name]["package"] != "deepspeed" for name in others)


def test_what_nothing_is_called_is_one_line():
    with pytest.raises(
        InputError, match=r"nothing is called 'lora-merge-stale-weight' \(did you mean lora-merge-stale-weights"
    ):
        explain("lora-merge-stale-weight")


# Every look-up: short by default, same input same bytes, text beside the data

TOPICS = [*names.known_patterns(), *store.symptoms(), *names.frameworks()]
SUBJECTS = [*SEED_BUGS, *entries.seed_rows(), *names.known_patterns(), *list(entries.rules())[::9]]
EXPLAINED = product(SUBJECTS, ("theory", "bug", "decision", "cross"))
QUERIES = ("nan", "oom", "reward", "hang", "显存不足", "x" * 2_000)
SIDES = product((view for view in VIEWS if view != "cross"), (False, True))
SHORT = {
    "symptoms": (symptoms, [{"query": text} for text in QUERIES]),
    "playbook": (playbook, [{"topic": name} for name in TOPICS]),
    "fixes": (
        fixes,
        [{}, *({"bug": name} for name in store.bugs()), *({"pattern": name} for name in store.patterns())],
    ),
    "explain": (explain, [{}, *({"id": name, "view": view} for name, view in EXPLAINED)]),
    "match_skill": (match_skill, [{"query": text} for text in ("GRPO NaN", "verl config check", "nothing known")]),
}
MAPS = {
    "symptoms": (symptoms, [{}]),
    "playbook": (playbook, [{}, {"topic": "fsdp"}]),
    "matrix": (
        matrix,
        [*({"view": view, "compare": compare} for view, compare in SIDES), *({"bug": name} for name in SEED_BUGS)],
    ),
    "read_reference": (
        read_reference,
        [
            {},
            {"search": "sleep level weights"},
            *({"name": name} for name in store.notes()),
            *({"framework": name} for name in store.table("on_demand")["frameworks"]),
        ],
    ),
}


@pytest.mark.parametrize("most, calls", [(TOKENS_600, SHORT), (TOKENS_800, MAPS)], ids=["600 tokens", "800 tokens"])
def test_default_answers_are_short_and_so_is_their_text(most, calls):
    long = []
    for tool, (look_up, given) in calls.items():
        for arguments in given:
            answer = look_up(**arguments, detail="brief")
            told = size(answer), len(TEXTS[tool](answer))
            if max(told) > most:
                long.append((tool, arguments, told))
    assert long == []


@pytest.mark.parametrize("tool, calls", [(tool, call) for calls in (SHORT, MAPS) for tool, call in calls.items()])
def test_less_detail_is_never_longer_and_a_cut_is_announced(tool, calls):
    look_up, given = calls
    for arguments in given[::7]:
        brief, normal, full = (look_up(**arguments, detail=detail) for detail in ("brief", "normal", "full"))
        assert size(brief) <= size(normal) + 200 and size(normal) <= size(full) + 200
        assert not cut(full)
        for name, rows in full.items():
            if (
                isinstance(rows, list)
                and name in ("symptoms", "steps", "fixes", "chain")
                and len(brief[name]) < len(rows)
            ):
                assert brief.get("notes"), (arguments, name)


def test_the_same_question_has_the_same_bytes():
    for calls in (SHORT, MAPS):
        for look_up, given in calls.values():
            for arguments in given[::11]:
                assert json.dumps(look_up(**arguments)) == json.dumps(look_up(**arguments))


# Entries that were checked long ago


def test_an_old_reading_is_said():
    bug = store.bugs()["verl-6782"]
    day = datetime.date.fromisoformat(bug["last_verified"])
    assert entries.age_notes([bug], day + datetime.timedelta(days=180)) == []
    (note,) = entries.age_notes([bug], day + datetime.timedelta(days=181))
    assert note.startswith("last checked more than 180 days ago") and "verl-6782" in note
