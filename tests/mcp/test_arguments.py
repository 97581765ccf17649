"""Arguments as assistants really send them, and one clear line for those that cannot be taken."""

from __future__ import annotations

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.tools.arguments import parse
from grpo_guard.tools.validate_config import ValidateConfig


def taken(**arguments):
    return parse(ValidateConfig, "validate_config", arguments)


def refused(**arguments):
    with pytest.raises(InputError) as caught:
        taken(**arguments)
    return str(caught.value)


def test_defaults():
    assert taken().model_dump() == {
        "config": "",
        "path": [],
        "framework": "",
        "versions": {},
        "gpu": "",
        "world_size": None,
        "focus": "all",
        "ruleset": "all",
        "detail": "brief",
        "limit": 10,
    }


def test_null_counts_as_not_given():
    assert taken(config=None, path=None, world_size=None, focus=None, versions=None) == taken()


def test_json_text_stays_as_written():
    assert taken(config='{"a": [1, NaN]}').config == '{"a": [1, NaN]}'


def test_a_config_sent_as_an_object_becomes_json_text_with_lines():
    assert taken(config={"a": {"b": 1}}).config == '{\n  "a": {\n    "b": 1\n  }\n}'


@pytest.mark.parametrize(
    "versions",
    [
        {"verl": "0.8.0", "torch": "2.8"},
        {" verl ": "0.8.0 ", "torch": 2.8},
        '{"verl": "0.8.0", "torch": "2.8"}',
        "verl=0.8.0, torch=2.8",
        "verl==0.8.0 torch==2.8",
        "verl:0.8.0\ntorch:2.8",
    ],
)
def test_versions_in_the_forms_that_arrive(versions):
    assert taken(versions=versions).versions == {"verl": "0.8.0", "torch": "2.8"}


@pytest.mark.parametrize("path", ["run.sh,ds.json", "run.sh\nds.json\n", " run.sh , ds.json ", ["run.sh", "ds.json"]])
def test_several_paths_of_one_run(path):
    assert taken(path=path).path == ["run.sh", "ds.json"]


def test_a_path_with_a_comma_can_be_sent_in_a_list():
    assert taken(path=["a,b.sh"]).path == ["a,b.sh"]


def test_a_number_as_text():
    assert taken(world_size="16").world_size == 16


@pytest.mark.parametrize(
    "arguments, line",
    [
        (
            {"confg": "x"},
            "unknown argument 'confg': did you mean config? validate_config takes config, path, framework, versions, "
            "gpu, world_size, focus, ruleset, detail, limit",
        ),
        (
            {"overlapcomm": True},
            "unknown argument 'overlapcomm': validate_config takes config, path, framework, versions, gpu, "
            "world_size, focus, ruleset, detail, limit",
        ),
        (
            {"focus": "nans"},
            "argument focus: 'nans': input should be 'all', 'nan', 'muon', 'streams', 'moe', 'fsdp', 'zero' or "
            "'knowledge'",
        ),
        ({"world_size": 0}, "argument world_size: 0: input should be greater than or equal to 1"),
        (
            {"world_size": 1.5},
            "argument world_size: 1.5: input should be a valid integer, got a number with a fractional part",
        ),
        ({"limit": 501}, "argument limit: 501: input should be less than or equal to 500"),
        ({"versions": "latest"}, "argument versions: 'latest': write versions as {\"verl\": \"0.8.0\"} or verl=0.8.0"),
        ({"versions": "{verl"}, "argument versions: '{verl': write versions as {\"verl\": \"0.8.0\"}"),
        ({"versions": [1]}, "argument versions: [1]: input should be a valid dictionary"),
        ({"gpu": "H" * 201}, "argument gpu: 201 characters, at most 200: shorten it"),
        (
            {"config": "x" * 1_000_001},
            "argument config: 1,000,001 characters, at most 1,000,000: save it to a file and pass its path",
        ),
        ({"config": 5}, "argument config: 5: input should be a valid string"),
        ({"path": ["x"] * 21}, "argument path: 21 entries, at most 20: shorten it"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_said_in_one_line(arguments, line):
    assert refused(**arguments) == line


def test_a_long_value_is_not_echoed():
    assert len(refused(focus="x" * 150)) < 250
