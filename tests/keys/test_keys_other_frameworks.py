"""DeepSpeed, OpenRLHF, accelerate and transformers: facts of their releases."""

import pytest

from grpo_guard.configs.keys import MISSING, load
from grpo_guard.configs.values import Unresolved


def ds(version):
    return load("deepspeed", ["ds_config"], version)


def openrlhf(version):
    return load("openrlhf", ["train_ppo_ray"], version)


def accelerate(version, table="config"):
    return load("accelerate", [table], version)


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.19.2", "gradient_clipping", 0.0),
        ("0.19.3", "gradient_clipping", 1.0),
        ("0.17.0", "bf16.check_grad_overflow", MISSING),
        ("0.17.1", "bf16.check_grad_overflow", False),
        ("0.19.2", "bf16.check_grad_overflow", False),
        ("0.19.3", "bf16.check_grad_overflow", True),
        ("0.19.4", "zero_optimization.offload_optimizer.pin_memory", False),
        ("0.19.5", "zero_optimization.offload_optimizer.pin_memory", True),
        ("0.14.0", "zero_optimization.stage", 0),
        ("0.14.0", "zero_optimization.reduce_bucket_size", 500_000_000),
        ("0.19.8", "zero_optimization.contiguous_gradients", True),
        ("0.19.3", "managed_gradient_accumulation", MISSING),
        ("0.19.4", "managed_gradient_accumulation", True),
        ("0.19.6", "zero_optimization.compute_grad_norm", MISSING),
        ("0.19.7", "zero_optimization.compute_grad_norm", True),
        ("0.14.0", "zero_force_ds_cpu_optimizer", True),
        ("0.14.0", "fp16.auto_cast", False),
        ("0.18.9", "fp16.initial_scale_power", 16),
        ("0.19.8", "zero_optimization.overlap_comm", Unresolved("true for stage 3, else false")),
        ("0.14.0", "zero_optimization.overlap_comm", Unresolved("true for stage 3, else false")),
        ("0.17.5", "data_types.grad_accum_dtype", Unresolved("the model dtype; fp32 for bf16 without ZeRO")),
        ("0.17.6", "data_types.grad_accum_dtype", Unresolved("the model dtype")),
    ],
)
def test_deepspeed_defaults(version, key, default):
    assert ds(version).default(key) == default


def test_deepspeed_names_with_and_without_the_stage3_prefix():
    table = ds("0.19.8")
    assert table.canonical("zero_optimization.prefetch_bucket_size") == "zero_optimization.stage3_prefetch_bucket_size"
    assert table.default("zero_optimization.prefetch_bucket_size") == 50_000_000
    assert table.canonical("bfloat16.enabled") == "bf16.enabled"
    assert table.known("bfloat16")


def test_deepspeed_open_dictionaries():
    table = ds("0.19.8")
    assert table.known("optimizer.params.lr")
    assert table.known("scheduler.params.warmup_num_steps")
    assert not table.known("optimizer.lr")


def test_deepspeed_refuses_unknown_keys_in_typed_sections_only():
    assert ds("0.19.8").rejects_unknown("zero_optimization.no_such_key")
    assert ds("0.19.8").rejects_unknown("bf16.no_such_key")
    assert not ds("0.17.0").rejects_unknown("bf16.no_such_key")  # a plain dictionary up to 0.17.0
    assert not ds("0.19.8").rejects_unknown("no_such_key")


def test_deepspeed_deprecated_names_still_work():
    table = ds("0.19.8")
    assert table.known("zero_optimization.cpu_offload")
    assert table.replacement("zero_optimization.cpu_offload") == ("zero_optimization.offload_optimizer",)


def test_deepspeed_features_removed_in_0_19_8():
    assert ds("0.19.7").known("elasticity.enabled")
    assert not ds("0.19.8").known("elasticity.enabled")
    assert ds("0.19.8").explain_unknown("elasticity").note == "removed in deepspeed 0.19.8"


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.10.1", "max_norm", 1.0),
        ("0.10.2", "max_norm", MISSING),
        ("0.10.2", "actor.max_norm", 1.0),
        ("0.10.2", "critic.max_norm", 1.0),
        ("0.10.2", "actor.adam.lr", 1e-6),
        ("0.10.2", "critic.adam.lr", 9e-6),
        ("0.9.1", "bf16", False),
        ("0.9.2", "bf16", MISSING),
        ("0.9.2", "param_dtype", "bf16"),
        ("0.8.11", "n_samples_per_prompt", 1),
        ("0.11.2", "rollout.n_samples_per_prompt", 1),
        ("0.11.2", "ds.zero_stage", 2),
        ("0.11.2", "actor.muon.nesterov", True),
        ("0.11.2", "actor.eps_clip_low_high", Unresolved("(actor.eps_clip, actor.eps_clip)")),
        ("0.11.2", "ckpt.max_mem", Unresolved("float('inf')")),
    ],
)
def test_openrlhf_defaults(version, key, default):
    assert openrlhf(version).declared(key) == default or openrlhf(version).default(key) == default


def test_openrlhf_choices_by_version():
    assert openrlhf("0.5.1").choices("advantage_estimator") == ("gae", "reinforce")
    assert "flash_reinforce" not in openrlhf("0.11.1").choices("algo.advantage.estimator")
    assert "flash_reinforce" in openrlhf("0.11.2").choices("algo.advantage.estimator")


def test_openrlhf_flat_names_lead_to_dotted_ones_and_back():
    note = "renamed to actor.max_norm and critic.max_norm in openrlhf 0.10.2"
    found = openrlhf("0.11.2").explain_unknown("max_norm")
    assert found == ("max_norm", ("actor.max_norm", "critic.max_norm"), note, "")  # two names: neither is certain
    back = openrlhf("0.9.10").explain_unknown("ds.zero_stage")
    assert back.note == "added in openrlhf 0.10.2; up to then the name is zero_stage"


def test_a_flag_whose_values_changed_on_the_way_has_no_certain_new_name():
    found = openrlhf("0.11.2").explain_unknown("bf16")  # a switch; what took its place names a dtype
    assert found.note.startswith("replaced by ")
    assert found.new_name == ""


def test_argparse_takes_unique_beginnings():
    table = openrlhf("0.9.10")
    assert table.canonical("colocate_all") == "colocate_all_models"
    assert table.known("colocate_all")
    assert not table.known("colocate_a")  # also colocate_actor_ref
    assert not table.known("")


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("1.5.2", "fsdp_config.fsdp_version", MISSING),
        ("1.6.0", "fsdp_config.fsdp_version", "1"),
        ("1.0.0", "fsdp_config.fsdp_sharding_strategy", "FULL_SHARD"),
        ("1.0.0", "deepspeed_config.zero_stage", 2),
        ("1.15.0", "num_machines", 1),
        ("1.15.0", "mixed_precision", "no"),
        ("1.9.0", "parallelism_config", MISSING),
        ("1.10.0", "parallelism_config", None),
    ],
)
def test_accelerate_file_defaults(version, key, default):
    assert accelerate(version).default(key) == default


def test_accelerate_blocks_take_names_without_their_prefix():
    assert accelerate("1.15.0").canonical("fsdp_config.version") == "fsdp_config.fsdp_version"


def test_accelerate_refuses_unknown_keys_at_the_top_only():
    assert accelerate("1.15.0").rejects_unknown("num_gpus")
    assert not accelerate("1.15.0").rejects_unknown("fsdp_config.fsdp_no_such_key")
    assert accelerate("1.15.0").required("distributed_type")


def test_accelerate_launch_options():
    assert accelerate("1.15.0", "launch").default("num_processes") is None
    assert accelerate("1.15.0", "launch").choices("mixed_precision") == ("no", "fp16", "bf16", "fp8")


def test_transformers_defaults():
    def arguments(version):
        return load("transformers", ["TrainingArguments"], version)

    assert arguments("4.57.6").default("report_to") == Unresolved("all installed integrations")
    assert arguments("5.0.0").default("report_to") == "none"
    assert arguments("4.53.3").default("optim") == "adamw_torch"
    assert "torch 2.8" in str(arguments("4.54.0").default("optim"))
    assert arguments("5.22.2").default("gradient_checkpointing") is False
    assert arguments("5.23.0").replacement("gradient_checkpointing") == ("activation_checkpointing",)
    assert arguments("5.15.0").explain_unknown("warmup_ratio").note == (
        "replaced by warmup_steps in transformers 5.0.0"
    )
