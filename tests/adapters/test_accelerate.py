"""accelerate: a config file, the options of `accelerate launch`, and the ds_config that it builds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from grpo_guard.configs.adapters.accelerate import claims
from grpo_guard.configs.parts import Part
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Unresolved

RunOf = Callable[..., RunConfig]
ZERO3 = """
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_multinode_launcher: standard
  gradient_clipping: 0.5
  offload_optimizer_device: cpu
  offload_param_device: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
downcast_bf16: 'no'
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""
FSDP = """
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_offload_params: true
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_use_orig_params: true
mixed_precision: 'no'
num_machines: 1
num_processes: 8
"""


def values(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name, "open") for name in names}


def test_deepspeed_config_of_its_own(run_of: RunOf) -> None:
    run = run_of({"zero3.yaml": ZERO3}, accelerate="1.14.0", deepspeed="0.18.9")

    assert run.framework == "accelerate"
    assert values(run, "world_size", "nnodes", "sharding_backend", "zero_stage", "overlap_comm") == {
        "world_size": 16,  # num_processes is the total over all machines
        "nnodes": 2,
        "sharding_backend": "deepspeed",
        "zero_stage": 3,
        "overlap_comm": True,
    }
    assert values(run, "offload_optimizer", "offload_param", "grad_clip", "bf16", "gather_weights_on_save") == {
        "offload_optimizer": "cpu",
        "offload_param": None,
        "grad_clip": 0.5,
        "bf16": True,
        "gather_weights_on_save": True,
    }
    assert run.settings["zero_stage"].key == "deepspeed_config.zero_stage"
    assert run.settings["zero_stage"].line == 12


def test_what_the_trainer_fills_stays_open(run_of: RunOf) -> None:
    run = run_of(
        {"zero2.yaml": ZERO3.replace("  gradient_clipping: 0.5\n", "").replace("zero_stage: 3", "zero_stage: 2")}
    )

    assert run.settings["grad_clip"].value == Unresolved("auto", ("max_grad_norm",))
    assert run.settings["gradient_accumulation"].value == Unresolved("auto", ("gradient_accumulation_steps",))


def test_zero_stage_defaults_to_2(run_of: RunOf) -> None:
    text = "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"

    assert run_of({"ds.yaml": text}).value("zero_stage") == 2


def test_clipping_of_zero_is_dropped_and_deepspeeds_default_holds(run_of: RunOf) -> None:
    files = {"zero3.yaml": ZERO3.replace("gradient_clipping: 0.5", "gradient_clipping: 0")}

    assert run_of(files, deepspeed="0.19.2").value("grad_clip") == 0.0
    assert run_of(files, deepspeed="0.19.3").value("grad_clip") == 1.0


def test_ds_config_file_is_followed(run_of: RunOf) -> None:
    text = """
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: ds.json
num_processes: 4
"""
    ds = '{"gradient_clipping": "auto", "zero_optimization": {"stage": 1, "overlap_comm": true}}'
    run = run_of({"acc.yaml": text, "ds.json": ds}, "acc.yaml")

    assert values(run, "zero_stage", "overlap_comm") == {"zero_stage": 1, "overlap_comm": True}
    assert [source.path for source in run.sources] == ["acc.yaml", "ds.json"]


def test_fsdp_without_a_version_is_fsdp_1(run_of: RunOf) -> None:
    run = run_of({"fsdp.yaml": FSDP}, accelerate="1.14.0")

    assert values(run, "sharding_backend", "fsdp_version", "reshard_after_forward", "offload_param", "zero_stage") == {
        "sharding_backend": "fsdp",
        "fsdp_version": 1,
        "reshard_after_forward": True,
        "offload_param": "cpu",
        "zero_stage": 0,
    }
    assert values(run, "bf16", "fp16") == {"bf16": False, "fp16": False}


@pytest.mark.parametrize(
    ("line", "reshards"),
    [
        ("fsdp_sharding_strategy: SHARD_GRAD_OP", False),
        ("fsdp_sharding_strategy: 1", True),
        ("sharding_strategy: HYBRID_SHARD", True),
        ("fsdp_reshard_after_forward: false", True),  # FSDP1 never reads this key
        ("fsdp_version: 2\n  fsdp_reshard_after_forward: false", False),
        ("fsdp_version: 2\n  fsdp_sharding_strategy: SHARD_GRAD_OP", True),  # and FSDP2 never that one
    ],
)
def test_spellings_of_the_sharding_strategy(run_of: RunOf, line: str, reshards: bool) -> None:
    run = run_of({"fsdp.yaml": FSDP.replace("fsdp_sharding_strategy: FULL_SHARD", line)})

    assert run.value("reshard_after_forward") is reshards


def test_fsdp_2(run_of: RunOf) -> None:
    run = run_of({"fsdp2.yaml": FSDP.replace("  fsdp_use_orig_params: true", "  fsdp_version: 2")})

    assert values(run, "sharding_backend", "fsdp_version", "offload_policy") == {
        "sharding_backend": "fsdp2",
        "fsdp_version": 2,
        "offload_policy": True,
    }


def test_options_of_the_launch_win_over_the_file(run_of: RunOf) -> None:
    files = {
        "zero3.yaml": ZERO3,
        "run.sh": "accelerate launch --config_file zero3.yaml --num_processes 7 --zero_stage 2 train.py --lr 1e-5\n",
    }
    run = run_of(files, "run.sh")

    assert values(run, "world_size", "zero_stage", "offload_optimizer") == {
        "world_size": 7,
        "zero_stage": 2,
        "offload_optimizer": "cpu",
    }
    assert run.settings["world_size"].key == "--num_processes"


@pytest.mark.parametrize(
    ("command", "backend", "world"),
    [
        ("accelerate launch --multi_gpu --num_processes 4 train.py", "ddp", 4),
        ("accelerate launch --use_deepspeed --zero_stage 3 --num_processes 8 train.py", "deepspeed", 8),
        ("accelerate launch --use_fsdp --fsdp_version 2 --num_processes 8 train.py", "fsdp2", 8),
        ("accelerate launch train.py", "open", "open"),
        ("accelerate launch --config_file missing.yaml train.py", "open", "open"),
        ("accelerate launch --config_file missing.yaml --num_processes $N train.py", "open", "open"),
    ],
)
def test_launch_alone(run_of: RunOf, command: str, backend: str, world: int | str) -> None:
    run = run_of({"run.sh": f"{command} --learning_rate 1e-5\n"})

    assert values(run, "sharding_backend", "world_size") == {"sharding_backend": backend, "world_size": world}


def test_a_config_that_is_not_found_is_said(run_of: RunOf) -> None:
    run = run_of({"run.sh": "accelerate launch --config_file missing.yaml train.py\n"})

    assert "missing.yaml: not found, so what this accelerate config sets is not known" in run.notes


def test_one_process_without_distribution(run_of: RunOf) -> None:
    run = run_of({"one.yaml": 'compute_environment: LOCAL_MACHINE\ndistributed_type: "NO"\nmixed_precision: no\n'})

    assert values(run, "sharding_backend", "world_size", "bf16") == {
        "sharding_backend": "none",
        "world_size": 1,
        "bf16": False,
    }


def test_model_parallelism_takes_ranks(run_of: RunOf) -> None:
    text = FSDP.replace("mixed_precision", "parallelism_config:\n  parallelism_config_cp_size: 2\nmixed_precision")

    assert run_of({"cp.yaml": text}).value("data_parallel_size") == 4


def test_unknown_keys_stop_at_the_top_level_only(run_of: RunOf) -> None:
    text = ZERO3.replace("num_machines", "num_machine").replace("zero3_init_flag", "zero3_inits")
    run = run_of({"zero3.yaml": text}, accelerate="1.14.0")

    assert [(row.key, row.fatal, row.did_you_mean[0]) for row in run.unknown_keys] == [
        ("num_machine", True, "num_machines")
    ]


@pytest.mark.parametrize(
    ("data", "score"),
    [
        ({"distributed_type": "NO"}, 85),
        ({"mixed_precision": "bf16", "num_processes": 4}, 85),
        ({"mixed_precision": "bf16"}, 0),
        (None, 0),
    ],
)
def test_claims(data: Any, score: int) -> None:
    assert claims(Part("yaml", "x.yaml", data=data)) == score
