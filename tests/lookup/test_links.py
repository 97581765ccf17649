"""What look-up entries name exists: bugs, rules, patterns, notes and tools."""

from __future__ import annotations

from grpo_guard.app import TOOLS
from grpo_guard.lookup import entries, names
from grpo_guard.store import lookup as store


def rows(table: str) -> list[dict]:
    return [row for part in store.table(table).values() if isinstance(part, list) for row in part]


def test_tables_name_bugs_and_rules_that_are_there():
    for table in ("streams", "fsdp", "moe"):
        named = [(table, name) for row in rows(table) for name in row.get("bugs", ()) if name not in store.bugs()]
        named += [(table, name) for row in rows(table) for name in row.get("rules", ()) if name not in entries.rules()]
        assert named == []
    assert [name for name in store.table("streams")["elsewhere"] if name not in store.bugs()] == []
    assert [cell["bug"] for cell in rows("seed_matrix") if cell.get("bug") and cell["bug"] not in store.bugs()] == []


def test_the_seeds_cells_carry_the_number_of_their_entry():
    cells = [cell for cell in rows("seed_matrix") if cell.get("bug")]
    assert [cell for cell in cells if not cell["bug"].endswith(cell["cited"].replace("#", "-"))] == []


def test_symptoms_lead_to_what_is_there():
    known = {"bug": store.bugs(), "rule": entries.rules(), "pattern": store.patterns()}
    leads = [
        (name, kind, lead[kind])
        for name, entry in store.symptoms().items()
        for lead in entry["leads"]
        for kind in known
        if lead.get(kind)
    ]
    assert [lead for lead in leads if lead[2] not in known[lead[1]]] == []


def test_every_pattern_of_a_bug_or_rule_is_described():
    used = {bug["pattern"] for bug in store.bugs().values()}
    used |= {rule["pattern"] for rule in entries.rules().values() if rule.get("pattern")}
    assert used <= set(store.patterns())
    assert set(entries.SEED_PATTERNS) <= set(store.patterns())


def test_skills_name_tools_and_notes_that_are_there():
    tools = {tool.name for tool in TOOLS} | {"diagnose", "avoid", "proof", "rtx4090", "estimate_memory"}
    for skill in store.skills().values():
        assert set(skill["tools"]) <= tools
        assert [note for note in skill["notes"] if note not in store.notes()] == []


def test_every_framework_of_the_on_demand_map_is_a_framework_and_its_notes_exist():
    for framework, notes in store.table("on_demand")["frameworks"].items():
        assert names.framework(framework) == framework
        assert [note for note in notes if note not in store.notes()] == []


def test_a_word_of_the_vocabulary_belongs_to_one_concept():
    owner: dict[str, str] = {}
    for concept, forms in store.table("vocabulary")["concepts"].items():
        for form in (concept, *forms):
            assert owner.setdefault(form, concept) == concept, form
    assert set(store.table("vocabulary")["decisive"]) <= set(store.table("vocabulary")["concepts"])
