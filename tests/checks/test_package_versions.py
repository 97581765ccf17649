"""Versions of packages against each other: what is said, what is not, and the frameworks' own sets, which pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grpo_guard.checks.engine import check_rule
from grpo_guard.checks.outcome import Hit, NotApplicable, Pass
from grpo_guard.configs.run_config import RunConfig, Setting
from grpo_guard.store import pins
from grpo_guard.store.index import index
from grpo_guard.store.versions import in_range
from grpo_guard.validate import validate_targets, validate_text

RULES = {rule["id"]: rule for rule in index()["rules"]}
PAIRS = {rule["id"]: rule for rule in index()["pair_rules"]}
CASES = Path(__file__).parents[1] / "cases" / "rules"
VERL = (CASES / "verl-engine-outside-extra" / "silent.sh").read_text()
ABOUT_VERSIONS = {
    "packages-not-installable", "engine-built-for-other-torch", "engine-requires-other-transformers",
    "verl-engine-outside-extra", "trl-vllm-unsupported-version", "openrlhf-engine-outside-extra",
    "rllm-on-another-verl", *PAIRS,
}  # fmt: skip


def a_run(framework: str, versions: dict[str, str], **fields: Any) -> RunConfig:
    run = RunConfig(framework, versions)
    for name, value in fields.items():
        run.settings[name] = Setting(name, f"native.{name}", value, "explicit", "run.sh", 7)
    return run


def outcome(rule: str, run: RunConfig) -> Any:
    return check_rule(RULES[rule], run).outcome


def told(report: Any) -> set[str]:
    return {finding.rule for finding in report.findings} & ABOUT_VERSIONS


# What the data says


@pytest.mark.parametrize(
    "package, version, about, bounds",
    [
        ("vllm", "0.11.0", "torch", "==2.8.0"),
        ("vllm", "0.20.2", "torch", "==2.11.0"),
        ("sglang", "0.5.9", "torch", "==2.9.1"),
        ("openrlhf", "0.9.0", "deepspeed", "==0.18.1"),
        ("trl", "0.23.0", "transformers", ">=4.56.1"),
        ("verl", "0.8.0", "numpy", "<2.0.0"),
    ],
)
def test_a_release_asks_for_what_its_metadata_says(package, version, about, bounds):
    assert pins.requires(package, version)[about] == bounds


def test_an_extra_is_a_window_and_not_a_requirement():
    assert "vllm" not in pins.requires("trl", "1.9.0")
    assert pins.windows("trl", "1.9.0", "vllm") == [">=0.17.0,<=0.25.1"]
    assert pins.windows("openrlhf", "0.9.1", "vllm") == ["==0.13.0", ">0.13.0"]


@pytest.mark.parametrize("version", ["0.0.1", "99.0", "0.8.0.dev0", "0.9.0rc1"])
def test_nothing_is_known_of_a_release_that_was_not_read(version):
    assert pins.requires("verl", version) == {}
    assert pins.windows("verl", version, "vllm") == []


# Single rules


def test_the_engine_names_what_it_asks_for_and_what_is_there():
    run = a_run("verl", {"verl": "0.7.0", "vllm": "0.12.0", "torch": "2.7.1"}, rollout_engine="vllm")
    hit = outcome("engine-built-for-other-torch", run)
    assert hit.message.startswith("vllm 0.12.0 requires torch ==2.9.0, and torch is 2.7.1: ")
    assert hit.fix.startswith("Install torch ==2.9.0")


@pytest.mark.parametrize(
    "versions",
    [
        {"verl": "0.7.0", "vllm": "0.12.0"},
        {"verl": "0.7.0", "torch": "2.7.1"},
        {"verl": "0.7.0", "vllm": "99.0", "torch": "2.7.1"},
        {"verl": "0.7.0", "vllm": "0.12.0", "torch": "2.10.0a0+b4e4ee81d3.nv25.12"},
    ],
)
def test_without_two_known_releases_nothing_is_said(versions):
    run = a_run("verl", versions, rollout_engine="vllm")
    assert isinstance(outcome("engine-built-for-other-torch", run), NotApplicable)


def test_a_build_of_the_release_is_the_release():
    run = a_run("verl", {"vllm": "0.12.0", "torch": "2.9.0+cu129"}, rollout_engine="vllm")
    assert isinstance(outcome("engine-built-for-other-torch", run), Pass)


def test_an_image_counts_as_a_whole():
    """verl 0.5.0 was run with tensordict 0.6.2, which its wheel excludes, in images that hold certain engines."""
    held = {"verl": "0.5.0", "vllm": "0.9.1", "torch": "2.7.0", "tensordict": "0.6.2"}
    assert isinstance(outcome("packages-not-installable", a_run("verl", held)), Pass)
    assert isinstance(outcome("packages-not-installable", a_run("verl", {**held, "vllm": "0.10.0"})), Hit)


def test_the_window_that_is_told_names_the_images_too():
    run = a_run("verl", {"verl": "0.7.1", "vllm": "0.19.0"}, rollout_engine="vllm")
    assert ">=0.8.5, <=0.12.0 or ==0.17.0, and vllm is 0.19.0" in outcome("verl-engine-outside-extra", run).message


def test_a_newer_release_than_the_data_is_noted_and_not_judged():
    report = validate_text(VERL, versions={"verl": "99.0", "vllm": "0.1.0"})
    assert told(report) == set()
    last = pins.last_read("verl")
    says = f"verl 99.0 is newer than the data on combinations (up to {last}): not compared with others"
    assert says in report.notes


def test_without_versions_no_combination_is_spoken_of():
    assert told(validate_text(VERL)) == set()


# Known-bad pairs


def inside(bounds: str | list[str]) -> str:
    """A release in a range."""
    spec = bounds if isinstance(bounds, str) else bounds[0]
    ends = [clause.lstrip("<>=!") for clause in spec.split(",")]
    candidates = [*ends, "0.0.1", *(f"{end}.1" for end in ends)]
    return next(version for version in candidates if in_range(version, spec))


def outside(bounds: str | list[str]) -> str:
    specs = [bounds] if isinstance(bounds, str) else bounds
    candidates = ["0.0.1", "9999.0"]
    return next(version for version in candidates if not any(in_range(version, spec) for spec in specs))


FIELDS = {
    "rollout_engine": "vllm", "rollout_engines": 4, "lora_rank": 16, "lora_merge": False, "zero_stage": 3,
    "sharding_backend": "fsdp", "is_moe": True, "optimizer": "muon", "weight_sync_backend": "nccl",
    "model": "Qwen/Qwen3.5-VL-30B-A3B", "use_vllm": True, "rollout_adapter_sync": True,
}  # fmt: skip
OWN_FIELDS = {"unsloth-trl-checkpointing": {"model": "google/gemma-4-E4B-it"}}


@pytest.mark.parametrize("name", sorted(PAIRS))
class TestEveryPair:
    def versions(self, name: str) -> dict[str, str]:
        return {package: inside(bounds) for package, bounds in PAIRS[name]["affected"].items()}

    def run(self, name: str, versions: dict[str, str]) -> Any:
        fields = {**FIELDS, **OWN_FIELDS.get(name, {})}
        return check_rule(PAIRS[name], a_run(PAIRS[name]["frameworks"][0], versions, **fields))

    def test_it_is_found_with_its_versions_in_the_message(self, name: str) -> None:
        versions = self.versions(name)
        verdict = self.run(name, versions)
        assert isinstance(verdict.outcome, Hit)
        assert verdict.finding is not None and verdict.finding.severity == PAIRS[name]["severity"]
        assert all(f"{package} {version}" in verdict.finding.message for package, version in versions.items())
        assert verdict.finding.fix is not None and verdict.finding.references

    def test_another_release_of_either_package_takes_it_away(self, name: str) -> None:
        for package, bounds in PAIRS[name]["affected"].items():
            other = {**self.versions(name), package: outside(bounds)}
            assert isinstance(self.run(name, other).outcome, NotApplicable)

    def test_it_is_not_spoken_of_while_a_version_is_unknown(self, name: str) -> None:
        for package in PAIRS[name]["affected"]:
            known = {other: version for other, version in self.versions(name).items() if other != package}
            assert isinstance(self.run(name, known).outcome, NotApplicable)

    def test_an_error_is_confirmed_and_certain(self, name: str) -> None:
        if PAIRS[name]["severity"] == "error":
            assert PAIRS[name]["verdict"] == "confirmed"
            assert PAIRS[name]["condition"] != ["const", True]


@pytest.mark.parametrize(
    "name, field",
    [
        ("unsloth-trl-checkpointing", {"model": "Qwen/Qwen3-8B"}),
        ("ms-swift-vllm-lora", {"rollout_adapter_sync": False}),
        ("verl-vllm-before-0.18", {"device": "npu"}),
    ],
)
def test_a_pair_concerns_some_runs_only(name: str, field: dict[str, Any]):
    versions = {package: inside(bounds) for package, bounds in PAIRS[name]["affected"].items()}
    run = a_run(PAIRS[name]["frameworks"][0], versions, **{**FIELDS, **OWN_FIELDS.get(name, {}), **field})
    assert isinstance(check_rule(PAIRS[name], run).outcome, Pass)


def test_a_pair_is_found_in_a_real_script():
    path = CASES / "openrlhf-engine-outside-extra" / "silent.sh"
    report = validate_targets([path], versions={"openrlhf": "0.8.7", "vllm": "0.10.0"})
    (finding,) = [row for row in report.findings if row.rule in PAIRS]
    assert (finding.rule, finding.severity) == ("openrlhf-vllm-compared-as-text", "error")
    assert finding.message.startswith("openrlhf 0.8.7 with vllm 0.10.0: ")
    assert finding.setting is not None and finding.setting.key == "--vllm_num_engines"


# The sets that the frameworks themselves pin or put into images are healthy


def pinned_sets() -> list[Any]:
    found = []
    for row in index()["images"]:
        release = row["versions"].partition(",")[0].removeprefix(">=")
        engine = "vllm" if "vllm" in row["holds"] else "sglang"
        found.append(("verl", {"verl": release, **row["holds"]}, engine))
    for package in ("openrlhf", "trl", "verl"):
        for _, about, points in pins.histories(package):
            for since, _bounds in points:
                if about in ("vllm", "sglang") and since and exact(package, since, about):
                    found.append((package, exact(package, since, about), about))
    return [pytest.param(*each, id=f"{each[0]}-{'-'.join(each[1].values())}") for each in found]


def exact(package: str, release: str, engine: str) -> dict[str, str]:
    """The release with everything that it and its engine pin exactly; {} when the engine is not pinned."""
    asked = {about: bounds for about, bounds in pins.requires(package, release).items() if bounds.startswith("==")}
    for about in ("torch", "transformers"):
        asked.update((about, bounds) for bounds in pins.windows(package, release, about) if bounds.startswith("=="))
    own = [bounds for bounds in pins.windows(package, release, engine) if bounds.startswith("==")]
    if not own:
        return {}
    version = own[0].removeprefix("==")
    below = {about: bounds for about, bounds in pins.requires(engine, version).items() if bounds.startswith("==")}
    fixed = {about: bounds.split(",")[0].removeprefix("==") for about, bounds in {**below, **asked}.items()}
    return {package: release, engine: version, **fixed}


@pytest.mark.parametrize("framework, versions, engine", pinned_sets())
def test_a_set_of_the_frameworks_own_is_healthy(framework, versions, engine):
    run = a_run(framework, versions, rollout_engine=engine, rollout_engines=2, lora_rank=0, is_moe=False)
    for rule in [RULES[name] for name in sorted(ABOUT_VERSIONS - set(PAIRS))] + list(PAIRS.values()):
        finding = check_rule(rule, run).finding
        assert finding is None or finding.severity == "info", finding.message
