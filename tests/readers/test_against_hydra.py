"""Our readers against Hydra and OmegaConf themselves (their answers are in expected_by_hydra.json)."""

import json
from collections import Counter
from pathlib import Path

import pytest

from grpo_guard.configs.hydra import ProjectLoader, compose, interpolate, parse_omegaconf_cli, parse_override
from grpo_guard.configs.values import InputError, Unresolved
from grpo_guard.configs.yaml_text import read_yaml

EXPECTED = json.loads(Path(__file__).with_name("expected_by_hydra.json").read_text())


def decoded(value):
    if isinstance(value, dict) and "float" in value:
        return float(value["float"])
    if isinstance(value, dict):
        return {decoded(key): decoded(child) for key, child in value["dict"]}
    return [decoded(child) for child in value] if isinstance(value, list) else value


def same(ours, theirs):
    """Equal in type too: 1, 1.0 and True are three different settings."""
    return repr(ours) == repr(theirs)


def undecided(value):
    """Whether OmegaConf's value is a reference or the mark for "must be given"; those are Unresolved here."""
    return "${" in repr(value) or value == "???"


def override_verdict(word, theirs):
    ours = parse_override(word)
    refused = ours.rule == "hydra-syntax"
    if theirs == "refused" or refused:
        return "refused by both" if theirs == "refused" and refused else f"Hydra: {theirs}, here: {ours}"
    if (ours.key, ours.op) != (theirs["key"], theirs["op"]):
        return f"another key: {theirs}, here: {ours}"
    if "sweep" in theirs or ours.rule == "hydra-sweep":
        return "sweep in both" if "sweep" in theirs and ours.rule == "hydra-sweep" else f"Hydra: {theirs}, here: {ours}"
    value = decoded(theirs["value"])
    if isinstance(ours.value, Unresolved):
        return "undecided" if undecided(value) else f"decided by Hydra: {value!r}, here: {ours.value!r}"
    return "same value" if same(ours.value, value) else f"Hydra: {value!r}, here: {ours.value!r}"


def test_every_override_word_is_read_as_hydra_reads_it():
    verdicts = {word: override_verdict(word, theirs) for word, theirs in EXPECTED["overrides"]}
    agreed = Counter(verdict for verdict in verdicts.values() if len(verdict) < 18)
    assert {word: verdict for word, verdict in verdicts.items() if len(verdict) >= 18} == {}
    # The sample really covers every outcome.
    assert min(agreed[kind] for kind in ("refused by both", "sweep in both", "undecided", "same value")) >= 15


@pytest.mark.parametrize(("word", "theirs"), EXPECTED["cli"], ids=lambda value: str(value)[:40])
def test_omegaconf_command_line(word, theirs):
    ours = parse_omegaconf_cli(word)
    if theirs == "refused":
        assert ours.problem or isinstance(ours.value, Unresolved)
        return
    value = decoded(theirs["value"])
    for part in ours.key.replace("[", ".").replace("]", "").split("."):
        value = value[part] if part in value else value[int(part)]
    if isinstance(ours.value, Unresolved):
        assert undecided(value)
    else:
        assert same(ours.value, value)


@pytest.mark.parametrize(("text", "theirs"), EXPECTED["yaml"], ids=lambda value: str(value)[:40])
def test_yaml_under_the_omegaconf_rule(text, theirs):
    try:
        document = read_yaml(text, "config.yaml")
    except InputError:
        assert theirs == "refused"
        return
    if theirs == "refused":
        assert document.lints or document.notes, "read here without a word, refused by OmegaConf"
        return
    assert same(document.data, text_keys(decoded(theirs["value"])))


def text_keys(value):
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else WRITTEN_KEYS[str(key)]: text_keys(child) for key, child in value.items()
        }
    return [text_keys(child) for child in value] if isinstance(value, list) else value


WRITTEN_KEYS = {"1": "1", "True": "true", "None": "null", "1.5": "1.5"}  # keys stay as written here


@pytest.mark.parametrize(("tree", "theirs"), EXPECTED["interpolation"], ids=lambda value: str(value)[:60])
def test_interpolation(tree, theirs):
    ours = dict(leaves(interpolate(tree)))
    for path, value in theirs.items():
        value = value if value == "unresolved" else decoded(value)
        if isinstance(value, dict):
            continue  # a whole mapping was referred to; its leaves are compared where they stand
        if value == "unresolved":
            assert isinstance(ours[path], Unresolved), path
        else:
            assert same(ours[path], value), path


@pytest.mark.parametrize(("case", "theirs"), EXPECTED["composition"], ids=lambda value: str(value)[-80:])
def test_composition(case, theirs, tmp_path):
    for name, text in case["files"].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    document = read_yaml(case["files"]["config.yaml"], str(tmp_path / "config.yaml"))
    composed = compose(document, ProjectLoader(tmp_path, document), case["choices"])
    if theirs == "refused":
        assert composed.missing == ["actor/nope"]
    else:
        assert composed.data == decoded(theirs["value"])
        assert composed.missing == []


def leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from leaves(child, (*path, str(key)))
    if not isinstance(value, dict):
        yield ".".join(path), value
