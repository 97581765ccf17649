"""The stored files: in step with the curated YAML beside them, compact, and free of contradictions."""

import sys
from pathlib import Path

import pytest
import yaml

from grpo_guard.configs.keys_data import key_data
from grpo_guard.store.versions import parse

ROOT = Path(__file__).resolve().parents[2]
KNOWLEDGE = ROOT / "knowledge" / "frameworks"
FRAMEWORKS = sorted(path.parent.name for path in KNOWLEDGE.glob("*/keys.json"))


@pytest.fixture(scope="module")
def extract_keys():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import extract_keys

        yield extract_keys
    finally:
        sys.path.remove(str(ROOT / "scripts"))


def test_the_frameworks_with_key_tables():
    assert {"verl", "trl", "transformers", "deepspeed", "openrlhf", "accelerate"} <= set(FRAMEWORKS)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_file_equals_its_own_reconstruction(framework, extract_keys):
    """Decoding to one table per version and encoding again loses nothing; renames and derived defaults are current."""
    assert extract_keys.rebuilt(framework) == (KNOWLEDGE / framework / "keys.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_file_is_compact(framework):
    assert (KNOWLEDGE / framework / "keys.json").stat().st_size < 350_000


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_versions_ascend_and_change_points_follow_them(framework):
    data = key_data(framework)
    assert data.versions == sorted(data.versions, key=parse)
    order = {version: index for index, version in enumerate(data.versions)}
    for keys in data.tables.values():
        for key, history in keys.items():
            positions = [order[point[0]] for point in history]
            assert positions == sorted(set(positions)), key


def _present(framework: str, key: str) -> list[bool]:
    """Per version: whether a table of the framework (or TrainingArguments under TRL) has the key or a part of it."""
    data = key_data(framework)
    found = []
    for index in range(len(data.versions)):
        states = [data.state("tables", table, index) for table in data.tables]
        name = key.removesuffix(".*")
        found.append(any(name in state or any(k.startswith(name + ".") for k in state) for state in states))
    return found


def _renames():
    for framework in FRAMEWORKS:
        path = KNOWLEDGE / framework / "renames.yaml"
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["renames"] if path.is_file() else []:
            yield pytest.param(framework, entry, id=f"{framework}-{entry['old']}")


@pytest.mark.parametrize(("framework", "entry"), list(_renames()))
def test_rename_agrees_with_the_tables(framework, entry):
    assert set(entry) <= {"old", "new", "version", "accepted_until", "kind"}
    versions = [parse(version) for version in key_data(framework).versions]
    since = parse(entry["version"])
    before = [index for index, version in enumerate(versions) if version < since]
    after = [index for index, version in enumerate(versions) if version >= since]
    old = _present(framework, entry["old"])
    if before:
        assert any(old[index] for index in before), "the old name never existed before"
    if "accepted_until" not in entry:
        assert not any(old[index] for index in after), "the old name is still there"
    else:
        gone = parse(entry["accepted_until"]) if entry["accepted_until"] else None
        expected = [gone is None or versions[index] < gone for index in after]
        assert [old[index] for index in after] == expected
    for new in entry["new"] if isinstance(entry["new"], list) else [entry["new"]]:
        first = after[0]
        present = _present(framework, new)[first]
        if framework == "trl":
            present = present or any(_present("transformers", new))
        assert present, f"{new} does not exist in {entry['version']}"


def test_every_flat_openrlhf_option_has_an_answer_after_0_10_2():
    """All flat names of the last flat release lead to dotted ones, except those that went without successor."""
    data = key_data("openrlhf")
    flat = data.state("tables", "train_ppo_ray", data.versions.index("0.10.1.post2"))
    dotted = data.state("tables", "train_ppo_ray", data.versions.index("0.10.2"))
    renamed = {entry["old"] for entry in data.renames if entry["version"] == "0.10.2"}
    assert set(flat) - set(dotted) - renamed == {"actor_init_on_gpu", "perf", "ptx_coef"}
    targets = {new for entry in data.renames if entry["version"] == "0.10.2" for new in entry["new"]}
    assert targets <= set(dotted)


def _derived():
    for framework in FRAMEWORKS:
        path = KNOWLEDGE / framework / "derived_defaults.yaml"
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["defaults"] if path.is_file() else []:
            yield pytest.param(framework, entry, id=f"{framework}-{entry['key']}")


@pytest.mark.parametrize(("framework", "entry"), list(_derived()))
def test_derived_default_names_a_real_key_and_its_source(framework, entry):
    assert entry["source"].startswith("https://github.com/")
    assert ("value" in entry) != ("expr" in entry)
    data = key_data(framework)
    versions = [parse(version) for version in data.versions]
    present = _present(framework, entry["key"])
    since, until = (parse(entry[name]) if name in entry else None for name in ("since", "until"))
    covered = [
        index
        for index, version in enumerate(versions)
        if (since is None or version >= since) and (until is None or version < until)
    ]
    assert covered
    assert any(present[index] for index in covered)
    if since is not None:
        assert present[covered[0]]
