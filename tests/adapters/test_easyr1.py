"""EasyR1: the command line over its config file over the dataclasses, with prompts counted as in verl."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.adapters.easyr1 import batch, build, claims
from grpo_guard.configs.parts import Part, parts_of_command
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Command, Entry, Unresolved, Word
from grpo_guard.validate import validate_targets

LAUNCH = """python3 -m verl.trainer.main config=configs/math.yaml data.max_response_length=4096
  worker.actor.model.model_path=Qwen/Qwen3-4B worker.rollout.n=8 trainer.n_gpus_per_node=4"""
CONFIG = """
data:
  rollout_batch_size: 256
  max_prompt_length: 1024
  max_response_length: 2048
algorithm:
  adv_estimator: grpo
  use_kl_loss: true
  kl_penalty: low_var_kl
  kl_coef: 1.0e-2
worker:
  actor:
    global_batch_size: 64
    micro_batch_size_per_device_for_update: 2
    fsdp:
      torch_dtype: bf16
  rollout:
    n: 5
    tensor_parallel_size: 2
trainer:
  nnodes: 2
  n_gpus_per_node: 8
"""


def parts(command: str) -> list[Part]:
    words = [Word(text, 1, "train.sh") for text in shlex.split(command)]
    return parts_of_command(Command(words, {}, "train.sh", 1))


def run_of(command: str, version: str = "", config: list[Entry] | None = None) -> RunConfig:
    def load(name: str, naming_file: str) -> list[Part]:
        return [] if config is None else [Part("yaml", name, entries=config)]

    return build(parts(command), Options(versions={"easyr1": version} if version else {}, load=load))


def known(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name, "unknown") for name in names}


def test_command_line_over_file_over_dataclasses(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "math.yaml").write_text(CONFIG)
    (tmp_path / "train.sh").write_text(LAUNCH.replace("\n", " \\\n"))
    report = validate_targets([tmp_path / "train.sh"], root=tmp_path, versions={"easyr1": "0.3.2"})
    assert report.framework == "easyr1"
    assert [Path(source["path"]).name for source in report.sources] == ["train.sh", "math.yaml"]
    settings = {setting.field: (setting.value, setting.origin) for setting in report.settings}
    expected = {
        "group_size": (8, "explicit"),
        "max_response_length": (4096, "explicit"),
        "n_gpus": (4, "explicit"),
        "nnodes": (2, "explicit"),
        "train_batch_prompts": (256, "explicit"),
        "kl_type": ("low_var_kl", "explicit"),
        "model_dtype": ("bfloat16", "explicit"),
        "gpu_memory_utilization": (0.6, "default"),
        "world_size": (8, "derived"),
    }
    assert {name: settings.get(name) for name in expected} == expected
    assert report.batch["samples_per_step"] == 256 * 8
    assert report.unknown_keys == []


def test_what_the_source_does_whatever_is_configured() -> None:
    run = run_of(LAUNCH, "0.3.2", [Entry("worker.actor.fsdp.torch_dtype", None, "configs/math.yaml", 3)])
    expected = {
        "sharding_backend": "fsdp",
        "fsdp_version": 1,
        "model_dtype": "float32",  # torch_dtype null
        "ref_dtype": "bfloat16",
        "rollout_dtype": "bfloat16",
        "use_critic": False,
        "ref_policy": True,
        "use_kl_in_reward": True,  # use_kl_loss is false by default
        "free_cache_engine": True,
        "sleep_level": 1,
        "colocate": True,
        "generate_batch_prompts": 512,
        "data_parallel_size": 4,
    }
    assert known(run, *expected) == expected


def test_the_examples_config_has_its_released_content_when_it_is_not_there() -> None:
    run = run_of("python3 -m verl.trainer.main config=examples/config.yaml worker.rollout.n=8", "0.3.2")
    assert known(run, "group_size", "mini_batch_prompts") == {"group_size": 8, "mini_batch_prompts": 128}
    assert run.partial == "examples/config.yaml was not found; its released content is assumed"


def test_another_config_that_is_not_there_leaves_unset_keys_unknown() -> None:
    run = run_of(LAUNCH)
    assert run.value("group_size") == 8
    assert isinstance(run.settings["mini_batch_prompts"].value, Unresolved)
    assert "configs/math.yaml was not found: keys that the command line does not set are unknown" in run.notes


def test_without_a_config_the_dataclasses_hold() -> None:
    run = run_of("python3 -m verl.trainer.main worker.actor.model.model_path=Qwen/Qwen3-4B", "0.3.2")
    assert known(run, "group_size", "mini_batch_prompts", "world_size") == {
        "group_size": 1,
        "mini_batch_prompts": 256,
        "world_size": 8,
    }


def test_unknown_keys_stop_the_launch_at_the_stated_version() -> None:
    command = "python3 -m verl.trainer.main worker.actor.ulysses_sequence_parallel_size=2 worker.rollout.nn=4"
    keys = {unknown.key: unknown for unknown in run_of(command, "0.3.2").unknown_keys}
    renamed = keys["worker.actor.ulysses_sequence_parallel_size"]
    assert (renamed.fatal, renamed.did_you_mean) == (True, ["worker.actor.ulysses_size"])
    assert keys["worker.rollout.nn"].did_you_mean == ["worker.rollout.n"]
    assert run_of(command, "0.3.2").value("sequence_parallel") == 2
    assert [(key.key, key.fatal) for key in run_of(command).unknown_keys] == [("worker.rollout.nn", False)]


def test_lora_computes_the_reference_with_the_policy() -> None:
    run = run_of("python3 -m verl.trainer.main worker.actor.model.lora.rank=32", "0.3.3.dev0")
    assert known(run, "lora_rank", "lora_alpha", "ref_in_actor") == {
        "lora_rank": 32,
        "lora_alpha": 64,
        "ref_in_actor": True,
    }
    assert "lora_rank" not in run_of("python3 -m verl.trainer.main worker.rollout.n=2", "0.3.2").settings


def test_batch_table() -> None:
    command = (
        "python3 -m verl.trainer.main data.rollout_batch_size=256 worker.rollout.n=8 worker.actor.global_batch_size=64 "
        "data.max_prompt_length=1024 data.max_response_length=2048 trainer.n_gpus_per_node=8"
    )
    table = batch(run_of(command, "0.3.2"))
    assert (table["prompts_per_step"], table["samples_per_step"], table["tokens_per_step"]) == (256, 2048, 2048 * 3072)
    assert (table["samples_per_gpu"], table["mini_batches"], table["samples_per_optimizer_step"]) == (256, 4, 512)


@pytest.mark.parametrize(
    ("command", "score"),
    [
        ("python3 -m verl.trainer.main config=examples/config.yaml", 100),
        ("python3 verl/trainer/main.py config=examples/config.yaml", 100),
        ("python3 train.py worker.rollout.n=8 worker.actor.global_batch_size=64", 90),
        ("python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8", 0),
        ("python3 train.py worker.rollout.n=8", 0),
    ],
)
def test_who_is_claimed(command: str, score: int) -> None:
    assert max(claims(part) for part in parts(command)) == score


def test_its_yaml_is_claimed() -> None:
    entries = [Entry("worker.actor.global_batch_size", 64, "c.yaml", 1), Entry("worker.rollout.n", 5, "c.yaml", 2)]
    assert claims(Part("yaml", "c.yaml", entries=entries)) == 95
