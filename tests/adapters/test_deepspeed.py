"""DeepSpeed: a ds_config alone or with its launch, with the defaults of the release and "auto" left open."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from grpo_guard.configs.adapters.deepspeed import batch, claims
from grpo_guard.configs.parts import Part
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

RunOf = Callable[..., RunConfig]
CONFIG: dict[str, Any] = {
    "train_batch_size": 128,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-6, "weight_decay": 0.01}},
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": 2e8},
}


def config(**changes: Any) -> dict[str, str]:
    return {"ds.json": json.dumps(CONFIG | changes, indent=2)}


def values(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name) for name in names}


def test_a_whole_config(run_of: RunOf) -> None:
    run = run_of(config(), world_size=8, deepspeed="0.18.9")

    assert run.framework == "deepspeed"
    assert values(
        run, "zero_stage", "offload_optimizer", "offload_param", "optimizer", "grad_clip", "bf16", "fp16"
    ) == {
        "zero_stage": 2,
        "offload_optimizer": "cpu",
        "offload_param": None,
        "optimizer": "cpu_adam",  # Adam whose states are offloaded
        "grad_clip": 1.0,
        "bf16": True,
        "fp16": False,
    }
    assert values(run, "reduce_bucket_size", "learning_rate", "weight_decay", "reduce_scatter", "pin_memory") == {
        "reduce_bucket_size": 200_000_000,
        "learning_rate": 3e-6,
        "weight_decay": 0.01,
        "reduce_scatter": True,
        "pin_memory": False,
    }
    assert run.value("gradient_accumulation") == 4  # 128 / 4 / 8 ranks
    stage = run.settings["zero_stage"]
    assert (stage.key, stage.origin, stage.line) == ("zero_optimization.stage", "explicit", 16)


def test_batch_table_shows_the_product(run_of: RunOf) -> None:
    run = run_of(config(), world_size=8, deepspeed="0.18.9")

    assert batch(run) == {
        "samples_per_optimizer_step": 128,
        "micro_steps": 4,
        "samples_per_gpu": 16,
        "formula": {"samples_per_optimizer_step": "4 x 4 x 8", "samples_per_gpu": "4 x 4"},
    }


@pytest.mark.parametrize(
    ("version", "name", "value"),
    [
        ("0.19.2", "grad_clip", 0.0),
        ("0.19.3", "grad_clip", 1.0),
        ("0.19.2", "check_grad_overflow", False),
        ("0.19.3", "check_grad_overflow", True),
        ("0.19.4", "pin_memory", False),
        ("0.19.5", "pin_memory", True),
    ],
)
def test_defaults_follow_the_release(run_of: RunOf, version: str, name: str, value: Any) -> None:
    text = json.dumps({"bf16": {"enabled": True}, "zero_optimization": CONFIG["zero_optimization"]})
    run = run_of({"ds.json": text}, deepspeed=version)

    assert run.value(name, "open") == value
    assert run.settings[name].version == f"deepspeed {version}"


@pytest.mark.parametrize(("stage", "overlaps"), [(0, False), (1, False), (2, False), (3, True)])
def test_overlap_is_on_for_stage_3_only(run_of: RunOf, stage: int, overlaps: bool) -> None:
    run = run_of(config(zero_optimization={"stage": stage}))

    assert run.value("overlap_comm") is overlaps


def test_no_zero_block_means_stage_0(run_of: RunOf) -> None:
    text = json.dumps({"train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": True}})

    assert run_of({"ds.json": text}).value("zero_stage") == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"zero_optimization": {"stage": 2, "cpu_offload": True}}, {"offload_optimizer": "cpu"}),
        ({"zero_optimization": {"stage": 3, "cpu_offload_param": True}}, {"offload_param": "cpu"}),
        ({"zero_optimization": True}, {"zero_stage": 1}),
        ({"bf16": {}, "bfloat16": {"enabled": True}}, {"bf16": True}),
        ({"zero_optimization": {"stage": 3, "offload_param": {"device": "none"}}}, {"offload_param": None}),
    ],
)
def test_deprecated_forms_are_read_as_what_they_mean(
    run_of: RunOf, settings: dict[str, Any], expected: dict[str, Any]
) -> None:
    run = run_of(config(**settings), deepspeed="0.16.9")

    assert values(run, *expected) == expected


@pytest.mark.parametrize(
    ("version", "zero_stage", "dtype"),
    [("0.17.5", 0, "float32"), ("0.17.6", 0, "bfloat16"), ("0.17.5", 2, "bfloat16")],
)
def test_gradients_accumulate_in_the_dtype_of_the_model(
    run_of: RunOf, version: str, zero_stage: int, dtype: str
) -> None:
    run = run_of(config(zero_optimization={"stage": zero_stage}), deepspeed=version)

    assert run.value("grad_accum_dtype") == dtype


def test_auto_stays_open_and_names_what_fills_it(run_of: RunOf) -> None:
    run = run_of(config(gradient_clipping="auto", train_micro_batch_size_per_gpu="auto", train_batch_size="auto"))

    assert run.settings["grad_clip"].value == Unresolved("auto", ("max_grad_norm",))
    assert run.settings["micro_batch_per_gpu"].value == Unresolved("auto", ("per_device_train_batch_size",))
    assert not run.settings["train_batch_samples"].known


def test_auto_that_nothing_fills_is_the_default(run_of: RunOf) -> None:
    run = run_of(config(zero_optimization={"stage": 3, "contiguous_gradients": "auto", "overlap_comm": "auto"}))

    assert values(run, "contiguous_gradients", "overlap_comm") == {"contiguous_gradients": True, "overlap_comm": True}


def test_unknown_keys_stop_inside_a_config_model_and_are_ignored_elsewhere(run_of: RunOf) -> None:
    broken = config(
        gradient_cliping=1.0,
        comment="two nodes",
        zero_optimization={"stage": 2, "overlap_com": True},
        nvlink={"enabled": True, "level": 2},
    )
    run = run_of(broken, deepspeed="0.18.9")

    told = {row.key: (row.fatal, row.did_you_mean[:1]) for row in run.unknown_keys}
    assert told == {
        "gradient_cliping": (False, ["gradient_clipping"]),
        "zero_optimization.overlap_com": (True, ["zero_optimization.overlap_comm"]),
        "nvlink": (False, []),
    }
    assert all(("ignores it silently" in row.note) != row.fatal for row in run.unknown_keys)


def test_without_a_version_a_key_of_another_release_is_not_accused(run_of: RunOf) -> None:
    run = run_of(config(compression_training={"weight_quantization": {"shared_parameters": {"enabled": True}}}))

    assert run.unknown_keys == []


@pytest.mark.parametrize(
    ("launcher", "world"),
    [
        ("deepspeed --num_gpus 4 --num_nodes 2", 8),
        ("deepspeed --num_gpus=8", 8),
        ("deepspeed --include localhost:0,1,2", 3),
        ("deepspeed --include worker-0:0,1@worker-1:0,1", 4),
        ("torchrun --nproc_per_node 4 --nnodes 2", 8),
        ("torchrun --nproc-per-node=4", 4),
        ("deepspeed", None),
        ("deepspeed --num_gpus 4 --hostfile hosts", None),
        ("torchrun --nproc_per_node gpu", None),
        ("torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES", None),
    ],
)
def test_launchers_state_the_world_size(run_of: RunOf, launcher: str, world: int | None) -> None:
    files = config() | {"run.sh": f"{launcher} train.py --deepspeed_config ds.json\n"}
    run = run_of(files, "run.sh")

    assert run.framework == "deepspeed"
    assert run.value("world_size") == world
    assert run.value("zero_stage") == 2
    assert [source.path for source in run.sources] == ["run.sh", "run.sh", "ds.json"]


def test_a_launch_without_ds_config_leaves_it_open(run_of: RunOf) -> None:
    run = run_of({"run.sh": "deepspeed --num_gpus 8 main.py --actor_zero_stage 3 --lora_dim 128\n"})

    assert run.framework == "deepspeed"
    assert "zero_stage" not in run.settings
    assert "no ds_config was found: settings made in code are not known" in run.notes


@pytest.mark.parametrize(
    ("data", "score"),
    [
        ({"zero_optimization": {"stage": 1}}, 90),
        ({"train_batch_size": 8, "fp16": {"enabled": True}}, 70),
        ({"train_batch_size": 8}, 0),
        ({"zero_stage": 2, "overlap_comm": True}, 0),
        ([1, 2], 0),
    ],
)
def test_claims(data: Any, score: int) -> None:
    assert claims(Part("json", "x.json", data=data)) == score
