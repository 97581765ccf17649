"""SkyRL and its forerunner skyrl-train: one set of fields, two packages with versions of their own."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.adapters.skyrl import batch
from grpo_guard.configs.run_config import RunConfig

from .conftest import RunOf

NEW = """uv run --isolated --extra fsdp -m skyrl.train.entrypoints.main_base \\
  trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct \\
  trainer.placement.policy_num_gpus_per_node=4 \\
  generator.inference_engine.num_engines=2 \\
  generator.inference_engine.tensor_parallel_size=2 {}
"""
OLD = """uv run --isolated -m skyrl_train.entrypoints.main_base \\
  trainer.placement.policy_num_gpus_per_node=4 \\
  generator.num_inference_engines=1 {}
"""


def known(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name, "unknown") for name in names}


def test_the_dataclasses(run_of: RunOf) -> None:
    run = run_of({"run.sh": NEW.format("trainer.policy_mini_batch_size=128")}, skyrl="0.3.0")
    expected = {
        "train_batch_prompts": 1024,
        "mini_batch_prompts": 128,
        "group_size": 5,
        "rollout_engines": 2,
        "sharding_backend": "fsdp2",  # called fsdp since 0.3.0
        "fsdp_version": 2,
        "world_size": 4,
        "data_parallel_size": 4,
        "use_kl_loss": True,
        "use_critic": False,
        "async_training": False,
        "use_dynamic_bsz": False,
        "enforce_eager": False,
        "filter_groups": False,
    }
    assert known(run, *expected) == expected
    assert run.settings["train_batch_prompts"].version == "skyrl 0.3.0"
    assert batch(run)["samples_per_optimizer_step"] == 640


def test_the_older_trainer(run_of: RunOf) -> None:
    run = run_of({"run.sh": OLD.format("")}, **{"skyrl-train": "0.3.0"})
    assert known(
        run, "rollout_engines", "rollout_tensor_parallel", "enforce_eager", "fsdp_version", "max_input_length"
    ) == {
        "rollout_engines": 1,
        "rollout_tensor_parallel": 4,
        "enforce_eager": True,
        "fsdp_version": 2,
        "max_input_length": 512,  # ${trainer.max_prompt_length}
    }
    assert run.settings["rollout_tensor_parallel"].version == "skyrl-train 0.3.0"
    assert run.keys["rollout_engines"] == "generator.num_inference_engines"


@pytest.mark.parametrize(("default", "version"), [(4, "0.1.0"), (1, "0.4.0")])
def test_defaults_by_version(run_of: RunOf, default: int, version: str) -> None:
    assert run_of({"run.sh": OLD.format("")}, **{"skyrl-train": version}).value("rollout_tensor_parallel") == default


def test_old_names_until_0_2_0(run_of: RunOf) -> None:
    text = NEW.format("generator.num_inference_engines=2 generator.gpu_memory_utilization=0.7")
    older = run_of({"run.sh": text}, skyrl="0.2.0")
    assert older.unknown_keys == []
    assert older.value("gpu_memory_utilization") == 0.7
    rows = run_of({"run.sh": text}, skyrl="0.3.0").unknown_keys
    assert [(row.did_you_mean, row.fatal) for row in rows] == [
        (["generator.inference_engine.num_engines"], True),
        (["generator.inference_engine.gpu_memory_utilization"], True),
    ]
    assert rows[0].note == "a name of skyrl-train; skyrl takes only the new one since 0.3.0"


def test_unknown_keys(run_of: RunOf) -> None:
    (row,) = run_of({"run.sh": NEW.format("trainer.policy_minibatch_size=128")}, skyrl="0.3.0").unknown_keys
    assert row.did_you_mean[0] == "trainer.policy_mini_batch_size"
    own = NEW.replace("skyrl.train.entrypoints.main_base", "examples.train.my.main_mine")
    assert run_of({"run.sh": own.format("trainer.algorithm.my_weight=1")}, skyrl="0.3.0").unknown_keys == []


def test_a_plus_adds_a_key_in_the_older_trainer(run_of: RunOf) -> None:
    run = run_of({"run.sh": OLD.format("+generator.my_key=1 +generator.engine_init_kwargs.max_model_len=1")})
    assert run.unknown_keys == []


def test_fully_asynchronous_programs(run_of: RunOf) -> None:
    own = OLD.replace("skyrl_train.entrypoints.main_base", "examples.fully_async.main_fully_async")
    run = run_of({"run.sh": own.format("")}, **{"skyrl-train": "0.4.0"})
    assert known(run, "async_training", "fully_async") == {"async_training": True, "fully_async": True}


def test_a_defect_of_the_other_package_is_not_this_runs(run_of: RunOf) -> None:
    """skyrl-1353 is in skyrl before 0.2.0 and in every skyrl-train."""

    def said(text: str, **versions: str) -> list[str]:
        verdicts = check_run(run_of({"run.sh": text}, **versions))
        return [v.finding.severity for v in verdicts if v.rule["id"] == "skyrl-1353" and v.finding]

    assert said(NEW.format(""), skyrl="0.1.0") == ["error"]
    assert said(NEW.format(""), skyrl="0.2.0") == []
    assert said(OLD.format(""), **{"skyrl-train": "0.4.0"}) == ["error"]


def test_supervised_training_is_not_judged(run_of: RunOf) -> None:
    run = run_of({"run.sh": "uv run -m skyrl.train.main_sft strategy=fsdp\n"}, skyrl="0.3.0")
    assert run.notes == ["skyrl.train.main_sft is not the RL trainer; its settings are not checked"]
