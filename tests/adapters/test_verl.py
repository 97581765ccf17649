"""verl: overrides, YAML and recipes' own configs become one set of effective settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_guard.model import Report, SettingRef, plain
from grpo_guard.validate import validate_targets, validate_text

LAUNCH = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm {}"


def check(arguments: str = "", version: str | None = "0.8.0", **options: object) -> Report:
    versions = {"verl": version} if version else {}
    return validate_text(LAUNCH.format(arguments), versions=versions, **options)  # type: ignore[arg-type]


def setting(report: Report, field: str) -> SettingRef:
    return next(row for row in report.settings if row.field == field)


def rules(report: Report) -> set[str]:
    return {finding.rule for finding in report.findings}


class TestEffectiveSettings:
    def test_an_override_is_explicit_with_its_place(self) -> None:
        found = setting(check("actor_rollout_ref.rollout.n=8"), "group_size")
        assert (found.value, found.origin, found.key) == (8, "explicit", "actor_rollout_ref.rollout.n")
        assert (found.file, found.line) == ("<text>", 1)

    def test_an_unset_key_has_the_default_of_the_version(self) -> None:
        old, new = setting(check(version="0.5.0"), "enforce_eager"), setting(check(version="0.6.0"), "enforce_eager")
        assert (old.value, old.origin, old.version) == (True, "default", "verl 0.5.0")
        assert (new.value, new.origin, new.version) == (False, "default", "verl 0.6.0")

    def test_without_a_version_the_newest_known_one_is_taken_and_named(self) -> None:
        report = check(version=None)
        assert setting(report, "enforce_eager").version.startswith("verl 0.9.")
        assert any("no verl version given" in note for note in report.notes)

    def test_the_last_of_two_overrides_wins_and_the_first_is_reported(self) -> None:
        report = check("actor_rollout_ref.rollout.n=4 actor_rollout_ref.rollout.n=16")
        assert setting(report, "group_size").value == 16
        assert "duplicate-key" in rules(report)

    def test_a_deleted_key_is_back_at_its_default(self) -> None:
        report = check("actor_rollout_ref.rollout.n=4 ~actor_rollout_ref.rollout.n")
        assert setting(report, "group_size").origin == "default"

    def test_a_variable_that_is_never_set_leaves_the_value_open(self) -> None:
        report = check("actor_rollout_ref.rollout.n=$GROUP")
        assert plain(setting(report, "group_size").value) == "${GROUP}"
        assert ["GROUP"] in [row.needs for row in report.undecided if row.rule == "one-sample-groups"]

    def test_an_interpolation_is_followed_to_a_setting_or_a_default(self) -> None:
        report = check(
            "data.train_batch_size=96 'actor_rollout_ref.actor.ppo_mini_batch_size=${data.train_batch_size}' "
            "'actor_rollout_ref.rollout.n=${actor_rollout_ref.actor.ppo_epochs}'"
        )
        assert setting(report, "mini_batch_prompts").value == 96
        assert setting(report, "group_size").value == 1

    def test_an_interpolation_of_the_environment_stays_open(self) -> None:
        report = check("'actor_rollout_ref.rollout.n=${oc.env:GROUP}'")
        assert plain(setting(report, "group_size").value) == "${oc.env:GROUP}"

    def test_environment_variables_of_the_launch_decide_rules(self) -> None:
        text = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" + LAUNCH.format("")
        assert "expandable-segments-with-sleep" in rules(validate_text(text, versions={"verl": "0.8.0"}))


class TestEngines:
    @pytest.mark.parametrize(
        ("arguments", "backend"),
        [
            ("", "fsdp"),
            ("actor_rollout_ref.actor.strategy=fsdp2", "fsdp2"),
            ("actor_rollout_ref.actor.strategy=megatron", "megatron"),
            (
                "--config-name=ppo_megatron_trainer.yaml actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2",
                "megatron",
            ),
            ("model_engine=veomni", "veomni"),
        ],
    )
    def test_the_sharding_back_end(self, arguments: str, backend: str) -> None:
        assert setting(check(arguments), "sharding_backend").value == backend

    def test_data_parallel_size_of_fsdp_is_world_over_sequence_parallel(self) -> None:
        report = check(
            "trainer.nnodes=2 trainer.n_gpus_per_node=8 actor_rollout_ref.actor.ulysses_sequence_parallel_size=4"
        )
        assert setting(report, "world_size").value == 16
        assert setting(report, "data_parallel_size").value == 4

    def test_data_parallel_size_of_megatron_is_world_over_model_parallel(self) -> None:
        report = check(
            "actor_rollout_ref.actor.strategy=megatron trainer.n_gpus_per_node=8 trainer.nnodes=1 "
            "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 "
            "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2"
        )
        assert setting(report, "data_parallel_size").value == 2

    def test_a_stated_world_size_wins(self) -> None:
        assert setting(check("trainer.n_gpus_per_node=8", world_size=64), "world_size").value == 64

    def test_a_critic_belongs_to_gae_alone(self) -> None:
        assert setting(check(), "use_critic").value is False
        text = LAUNCH.format("").replace("=grpo", "=gae")
        assert setting(validate_text(text, versions={"verl": "0.8.0"}), "use_critic").value is True


def test_the_old_key_of_the_reward_manager_wins_over_the_new_one_unless_it_is_null() -> None:
    new = "reward.reward_manager.name=naive"
    assert setting(check(f"{new} reward_model.reward_manager=dapo"), "reward_manager").value == "dapo"
    assert setting(check(f"{new} reward_model.reward_manager=null"), "reward_manager").value == "naive"
    assert setting(check("reward_model.reward_manager=dapo", "0.6.1"), "reward_manager").value == "dapo"


class TestKeys:
    def test_a_misspelt_key_stops_the_launch_and_has_a_nearest_one(self) -> None:
        report = check("actor_rollout_ref.actor.kl_los_coef=0.1")
        (row,) = report.unknown_keys
        assert (row.key, row.did_you_mean[0]) == (
            "actor_rollout_ref.actor.kl_los_coef",
            "actor_rollout_ref.actor.kl_loss_coef",
        )
        assert [f.severity for f in report.findings if f.rule == "unknown-key"] == ["error"]

    def test_a_key_of_a_later_version_is_unknown_to_an_earlier_one(self) -> None:
        report = check("algorithm.rollout_correction.bypass_mode=True", version="0.5.0")
        assert [row.note for row in report.unknown_keys] == ["added in verl 0.6.1"]

    def test_without_a_version_only_keys_that_no_release_knows_are_told_and_not_as_errors(self) -> None:
        report = check("trainer.use_legacy_worker_impl=disable actor_rollout_ref.actor.nonsense=1", version=None)
        assert [row.key for row in report.unknown_keys] == ["actor_rollout_ref.actor.nonsense"]
        assert "unknown-key" not in rules(report)

    @pytest.mark.parametrize(
        ("override", "fires"),
        [
            ("+actor_rollout_ref.rollout.n=4", True),  # exists, default 1
            ("++actor_rollout_ref.rollout.n=4", False),
            ("+actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4", False),  # exists, default null
            ("+actor_rollout_ref.model.override_config.attn_implementation=eager", False),  # not there yet
        ],
    )
    def test_a_plus_over_an_existing_value_stops_hydra(self, override: str, fires: bool) -> None:
        assert ("hydra-plus-existing-key" in rules(check(override))) is fires

    def test_a_key_added_with_plus_may_be_set_again_without(self) -> None:
        assert (
            check(
                "+actor_rollout_ref.model.override_config.x=1 actor_rollout_ref.model.override_config.x=2"
            ).unknown_keys
            == []
        )


class TestRecipes:
    def test_unset_keys_of_an_unknown_config_are_unknown(self) -> None:
        text = (
            "python3 -m recipe.own.main_own --config-name=own_trainer algorithm.adv_estimator=grpo "
            "actor_rollout_ref.rollout.mode=async"
        )
        report = validate_text(text)
        assert plain(setting(report, "group_size").value) == "unknown"
        assert plain(setting(report, "grad_clip").value) == "unknown"
        assert "one-sample-groups" not in rules(report)
        assert any("config of its own" in note for note in report.notes)

    def test_a_config_in_the_project_is_read_with_its_parents(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").touch()
        config = tmp_path / "recipe" / "own" / "config"
        config.mkdir(parents=True)
        (config / "base.yaml").write_text(
            "defaults:\n  - ppo_trainer\n  - _self_\nactor_rollout_ref:\n  rollout:\n    n: 4\n"
        )
        (config / "own_trainer.yaml").write_text("defaults:\n  - base\n  - _self_\nalgorithm:\n  adv_estimator: rloo\n")
        script = tmp_path / "run.sh"
        script.write_text(
            "python3 -m recipe.own.main_own --config-name=own_trainer actor_rollout_ref.rollout.name=vllm\n"
        )
        report = validate_targets([script])
        group, estimator = setting(report, "group_size"), setting(report, "adv_estimator")
        assert (group.value, group.origin, group.file, group.line) == (4, "explicit", "recipe/own/config/base.yaml", 6)
        assert estimator.value == "rloo"
        assert setting(report, "temperature").origin == "default"  # of verl's own ppo_trainer

    def test_a_config_outside_the_project_folder_is_not_read(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside.yaml"
        outside.write_text("actor_rollout_ref: {rollout: {n: 4}}\n")
        project = tmp_path / "project"
        project.mkdir()
        (project / "pyproject.toml").touch()
        script = project / "run.sh"
        script.write_text(
            f"python3 -m recipe.x.main --config-path={tmp_path} --config-name=outside "
            "actor_rollout_ref.rollout.name=vllm\n"
        )
        assert plain(setting(validate_targets([script]), "group_size").value) == "unknown"


class TestPartialRuns:
    def test_what_rests_on_unset_keys_is_undecided_when_only_a_part_was_given(self) -> None:
        report = validate_text("algorithm.adv_estimator=grpo", versions={"verl": "0.8.0"})
        assert rules(report) == set()
        assert "one-sample-groups" in {row.rule for row in report.undecided}

    def test_what_the_part_itself_shows_is_told(self) -> None:
        text = "algorithm.adv_estimator=grpo\nactor_rollout_ref.rollout.n=1\n"
        assert "one-sample-groups" in rules(validate_text(text, versions={"verl": "0.8.0"}))


def test_the_checkout_that_holds_a_script_states_its_version(tmp_path: Path) -> None:
    (tmp_path / "verl" / "version").mkdir(parents=True)
    (tmp_path / "verl" / "version" / "version").write_text("0.6.1\n")
    (tmp_path / "pyproject.toml").touch()
    script = tmp_path / "examples" / "run.sh"
    script.parent.mkdir()
    script.write_text(LAUNCH.format("actor_rollout_ref.rollout.n=8") + "\n")
    assert validate_targets([script]).versions == {"verl": "0.6.1"}
    assert validate_targets([script], versions={"verl": "0.8.0"}).versions == {"verl": "0.8.0"}
