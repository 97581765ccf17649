"""SARIF against the schema that OASIS publishes, and what code scanning needs of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grpo_guard.cli import main

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "tests/data/sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
SCRIPT = """\
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=1 \\
    actor_rollout_ref.rollout.mode=sync \\
    trainer.nnodess=1
"""


def sarif(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The one run of the log, after the log was checked against the schema."""
    main(["validate", *arguments, "--format", "sarif"])
    log = json.loads(capsys.readouterr().out)
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    return run


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("my runs/é.sh")
    path.parent.mkdir()
    path.write_text(SCRIPT)
    return path


def result_of(run: dict[str, Any], rule: str) -> dict[str, Any]:
    (result,) = [result for result in run["results"] if result["ruleId"] == rule]
    return result


def applied(text: str, fix: dict[str, Any]) -> str:
    """The text after a SARIF fix, as the standard describes it."""
    ((change,),) = [[change["replacements"] for change in fix["artifactChanges"]]]
    for replacement in change:
        region, lines = replacement["deletedRegion"], text.splitlines(keepends=True)
        start = sum(map(len, lines[: region["startLine"] - 1])) + region["startColumn"] - 1
        stop = sum(map(len, lines[: region["endLine"] - 1])) + region["endColumn"] - 1
        text = text[:start] + replacement["insertedContent"]["text"] + text[stop:]
    return text


def test_results_have_level_place_and_rule(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = sarif(capsys, str(script), "--version", "verl=0.8.0")
    result = result_of(run, "one-sample-groups")
    assert result["level"] == "error"
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "my%20runs/%C3%A9.sh", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 2},
            },
            "logicalLocations": [{"fullyQualifiedName": "actor_rollout_ref.rollout.n", "kind": "member"}],
        }
    ]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["shortDescription"]["text"] == "Group size of one gives no group baseline"
    assert rule["helpUri"].startswith("https://github.com/")
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert result_of(run, "unknown-key")["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}


def test_a_default_is_shown_at_the_file_of_the_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(SCRIPT.replace(" actor_rollout_ref.rollout.n=1", ""))
    result = result_of(sarif(capsys, str(script), "--version", "verl=0.8.0"), "one-sample-groups")
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20runs/%C3%A9.sh", "uriBaseId": "%SRCROOT%"}
    }


def test_fixes_can_be_applied(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = sarif(capsys, str(script), "--version", "verl=0.8.0")
    (fix,) = result_of(run, "one-sample-groups")["fixes"]
    assert fix["properties"] == {"safety": "unsafe"}
    assert applied(SCRIPT, fix) == SCRIPT.replace("rollout.n=1", "rollout.n=8")
    (fix,) = result_of(run, "sync-rollout-mode-removed")["fixes"]
    assert fix["properties"] == {"safety": "safe"}
    assert applied(SCRIPT, fix) == SCRIPT.replace("    actor_rollout_ref.rollout.mode=sync \\\n", "")


def test_what_is_silenced_is_there_as_suppressed(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(f"# grpo-guard: ignore-file[one-sample-groups] smoke test\n{SCRIPT}")
    Path("pyproject.toml").touch()
    Path(".grpo-guard.yaml").write_text(
        "ignore: [{rule: sync-rollout-mode-removed, reason: old cluster, until: 2999-01-01}]"
    )
    run = sarif(capsys, str(script), "--version", "verl=0.8.0")
    (suppression,) = result_of(run, "one-sample-groups")["suppressions"]
    assert (suppression["kind"], suppression["justification"]) == ("inSource", "smoke test")
    assert suppression["location"]["physicalLocation"]["region"] == {"startLine": 1}
    assert result_of(run, "sync-rollout-mode-removed")["suppressions"] == [
        {"kind": "external", "justification": "old cluster"}
    ]


def test_pasted_text_has_results_without_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    run = sarif(capsys, "--config", SCRIPT, "--version", "verl=0.8.0")
    result = result_of(run, "one-sample-groups")
    assert "locations" not in result
    assert "fixes" not in result


def test_a_file_outside_the_working_directory_has_a_whole_uri(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = script.resolve()
    monkeypatch.chdir(script.parent)
    (place.parent.parent / "other.sh").write_text(SCRIPT)
    run = sarif(capsys, "../other.sh", "--version", "verl=0.8.0")
    location = result_of(run, "one-sample-groups")["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": (place.parent.parent / "other.sh").as_uri()}


def test_all_golden_files_together_follow_the_schema(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run = sarif(capsys, "tests/cases/rules", "--version", "verl=0.8.0", "--version", "trl=1.2.0")
    assert len(run["results"]) > 300
    assert sum("fixes" in result for result in run["results"]) > 100


def test_a_run_without_findings_is_an_empty_log(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(SCRIPT.replace(" \\\n    trainer.nnodess=1", ""))
    run = sarif(capsys, str(script), "--focus", "muon")
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
