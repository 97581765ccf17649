"""TRL: flags, YAML and Python calls become the same run, with what each release makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from grpo_guard.configs.adapters.trl import batch, claims
from grpo_guard.configs.parts import Part
from grpo_guard.configs.run_config import RunConfig
from grpo_guard.configs.values import Entry

RunOf = Callable[..., RunConfig]

FLAGS = """
accelerate launch --config_file zero2.yaml --num_processes 7 train_grpo.py \\
    --model_name_or_path Qwen/Qwen3-30B-A3B --output_dir out --use_peft --lora_r 32 --lora_alpha 64 \\
    --num_generations 14 --per-device-train-batch-size 4 --gradient_accumulation_steps 2 \\
    --use_vllm --vllm_mode server --beta 0.04 --epsilon 0.2 --learning_rate 2e-6 --max_grad_norm 0.2 \\
    --max_prompt_length 512 --max_completion_length 1024 --temperature 0.9 --bf16 true --no_gradient_checkpointing
"""
YAML = """
model_name_or_path: Qwen/Qwen3-30B-A3B
output_dir: out
use_peft: true
lora_r: 32
lora_alpha: 64
num_generations: 14
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
use_vllm: true
vllm_mode: server
beta: 0.04
epsilon: 0.2
learning_rate: 2e-6   # text for PyYAML; argparse makes a float of it
max_grad_norm: 0.2
max_prompt_length: 512
max_completion_length: 1024
temperature: 0.9
bf16: yes
gradient_checkpointing: false
"""
PYTHON = """
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

training_args = GRPOConfig(
    output_dir="out", num_generations=14, per_device_train_batch_size=4, gradient_accumulation_steps=2,
    use_vllm=True, vllm_mode="server", beta=0.04, epsilon=0.2, learning_rate=2e-6, max_grad_norm=0.2,
    max_prompt_length=512, max_completion_length=1024, temperature=0.9, bf16=True, gradient_checkpointing=False,
)
trainer = GRPOTrainer(
    model="Qwen/Qwen3-30B-A3B", args=training_args, reward_funcs=reward, train_dataset=dataset,
    peft_config=LoraConfig(r=32, lora_alpha=64, target_modules="all-linear"),
)
"""
ZERO2 = """
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  offload_optimizer_device: none
  zero_stage: 2
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""
EFFECTIVE = {
    "adv_estimator": "grpo",
    "group_size": 14,
    "micro_batch_per_gpu": 4,
    "gradient_accumulation": 2,
    "steps_per_generation": 2,
    "generation_batch_size": 56,
    "train_batch_samples": 56,
    "world_size": 7,
    "kl_coef": 0.04,
    "use_kl_loss": True,
    "ref_policy": True,
    "use_critic": False,
    "clip_ratio": 0.2,
    "clip_ratio_high": 0.2,
    "learning_rate": 2e-6,
    "grad_clip": 0.2,
    "optimizer": "adamw",
    "max_prompt_length": 512,
    "max_response_length": 1024,
    "temperature": 0.9,
    "bf16": True,
    "gradient_checkpointing": False,
    "rollout_engine": "vllm",
    "rollout_mode": "server",
    "colocate": False,
    "lora_rank": 32,
    "lora_alpha": 64,
    "model": "Qwen/Qwen3-30B-A3B",
    "is_moe": True,
    "loss_type": "dapo",
    "scale_rewards": "group",
    "norm_adv_by_std": True,
}
VERSIONS = {"trl": "0.22.2", "transformers": "4.56.2", "deepspeed": "0.18.9"}


def values(run: RunConfig, *names: str) -> dict[str, Any]:
    return {name: run.value(name, "open") for name in names}


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"run.sh": FLAGS, "zero2.yaml": ZERO2}, ("run.sh",)),
        ({"recipe.yaml": YAML}, ("recipe.yaml",)),
        ({"train.py": PYTHON}, ("train.py",)),
    ],
    ids=["flags", "yaml", "python"],
)
def test_three_ways_of_writing_one_run(run_of: RunOf, files: dict[str, str], named: tuple[str, ...]) -> None:
    run = run_of(files, *named, world_size=7, **VERSIONS)

    assert run.framework == "trl"
    assert values(run, *EFFECTIVE) == EFFECTIVE
    assert run.unknown_keys == []


def test_places_and_native_keys(run_of: RunOf) -> None:
    run = run_of({"run.sh": FLAGS, "zero2.yaml": ZERO2}, "run.sh", **VERSIONS)

    micro = run.settings["micro_batch_per_gpu"]
    assert (micro.key, micro.origin, micro.file, micro.line) == (
        "--per-device-train-batch-size",
        "explicit",
        "run.sh",
        4,
    )
    assert run.settings["loss_type"].version == "trl 0.22.2"
    assert run.settings["weight_decay"].version == "transformers 4.56.2"
    assert run.key_of("num_iterations") == "--num_iterations"
    assert run.settings["zero_stage"].file == "zero2.yaml"


def test_flags_win_over_the_config_file(run_of: RunOf) -> None:
    files = {
        "recipe.yaml": YAML,
        "run.sh": "torchrun --nproc_per_node 8 src/open_r1/grpo.py --config recipe.yaml --num_generations 8\n",
    }
    run = run_of(files, "run.sh", **VERSIONS)

    assert values(run, "group_size", "micro_batch_per_gpu", "world_size", "sharding_backend", "zero_stage") == {
        "group_size": 8,
        "micro_batch_per_gpu": 4,
        "world_size": 8,
        "sharding_backend": "ddp",
        "zero_stage": 0,
    }


def test_a_config_that_is_not_found_leaves_defaults_open(run_of: RunOf) -> None:
    run = run_of({"run.sh": "trl grpo --config gone.yaml --num_generations 8\n"}, **VERSIONS)

    assert values(run, "group_size", "micro_batch_per_gpu", "loss_type") == {
        "group_size": 8,
        "micro_batch_per_gpu": "open",
        "loss_type": "open",
    }
    assert "gone.yaml: not found, so unset arguments have unknown values" in run.notes


def test_double_star_in_a_call_leaves_defaults_open(run_of: RunOf) -> None:
    text = "args = GRPOConfig(output_dir='out', num_generations=4, **common)\n"

    assert values(run_of({"t.py": text}, trl="0.24.0"), "group_size", "micro_batch_per_gpu") == {
        "group_size": 4,
        "micro_batch_per_gpu": "open",
    }


def test_env_block_of_the_config_is_environment(run_of: RunOf) -> None:
    run = run_of({"recipe.yaml": YAML + "env:\n  NCCL_DEBUG: INFO\n  VLLM_USE_V1: 0\n"})

    assert {name: setting.value for name, setting in run.env.items()} == {"NCCL_DEBUG": "INFO", "VLLM_USE_V1": "0"}


@pytest.mark.parametrize(
    ("flag", "name", "value"),
    [
        ("--num-generations 4", "group_size", 4),
        ("--gradient_acc 4", "gradient_accumulation", 4),  # the only flag that starts so
        ("--no-gradient-checkpointing", "gradient_checkpointing", False),
        ("--gradient_checkpointing no", "gradient_checkpointing", False),
        ("--gradient_checkpointing", "gradient_checkpointing", True),
        ("--beta 1", "kl_coef", 1),
        ("--top_k none", "top_k", None),
        ("--scale_rewards False", "scale_rewards", "False"),  # text: TRL refuses it in the first step
        ("--vllm_tensor_parallel_size=2", "rollout_tensor_parallel", 2),
    ],
)
def test_flags_as_hf_argument_parser_reads_them(run_of: RunOf, flag: str, name: str, value: Any) -> None:
    run = run_of({"run.sh": f"trl grpo --output_dir out {flag}\n"}, trl="1.9.0", transformers="5.24.0")

    assert values(run, name) == {name: value}
    assert run.unknown_keys == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.16.1", {"kl_coef": 0.04, "temperature": 0.9, "scale_rewards": "group", "bf16": False}),
        ("0.18.2", {"kl_coef": 0.04, "temperature": 1.0, "loss_type": "bnpo", "bf16": False}),
        ("0.19.0", {"kl_coef": 0.0, "ref_policy": False, "bf16": True, "gradient_checkpointing": False}),
        ("0.22.0", {"loss_type": "dapo", "scale_rewards": "group", "gradient_checkpointing": True}),
        ("1.10.0", {"max_response_length": 512, "model_dtype": "float32"}),
    ],
)
def test_defaults_follow_the_release(run_of: RunOf, version: str, expected: dict[str, Any]) -> None:
    run = run_of({"run.sh": "trl grpo --output_dir out\n"}, trl=version, transformers="4.56.2")

    assert values(run, *expected) == expected


@pytest.mark.parametrize(
    ("version", "mode", "logprobs"),
    [
        ("0.16.1", "server", "raw_logprobs"),
        ("0.23.0", "server", "raw_logprobs"),
        ("0.27.1", "server", "processed_logprobs"),
        ("1.0.0", "colocate", "processed_logprobs"),
    ],
)
def test_vllm_mode_without_a_word_about_it(run_of: RunOf, version: str, mode: str, logprobs: str) -> None:
    run = run_of({"run.sh": "trl grpo --output_dir out --use_vllm\n"}, trl=version)

    assert values(run, "rollout_mode", "colocate", "logprobs_mode") == {
        "rollout_mode": mode,
        "colocate": mode == "colocate",
        "logprobs_mode": logprobs,
    }


@pytest.mark.parametrize(("version", "level"), [("0.24.0", 1), ("0.25.0", 2)])
def test_sleep_level_is_fixed_in_trl(run_of: RunOf, version: str, level: int) -> None:
    flags = "--use_vllm --vllm_mode colocate --vllm_enable_sleep_mode"

    assert run_of({"run.sh": f"trl grpo --output_dir out {flags}\n"}, trl=version).value("sleep_level") == level


def test_stated_generation_batch_fixes_the_steps(run_of: RunOf) -> None:
    flags = "--per_device_train_batch_size 8 --generation_batch_size 256 --gradient_accumulation_steps 2"
    run = run_of({"run.sh": f"trl grpo --output_dir out {flags}\n"}, world_size=8, trl="0.22.2")

    assert values(run, "steps_per_generation", "generation_batch_size") == {
        "steps_per_generation": 4,
        "generation_batch_size": 256,
    }


def test_generation_batch_is_open_without_the_number_of_processes(run_of: RunOf) -> None:
    run = run_of({"run.sh": "trl grpo --output_dir out\n"}, trl="0.22.2")

    assert run.settings["generation_batch_size"].value.names == ("--num_processes",)


def test_rloo_takes_the_kl_from_the_reward(run_of: RunOf) -> None:
    run = run_of({"run.sh": "trl rloo --output_dir out --beta 0.05 --num_generations 4\n"}, trl="0.24.0")

    assert values(run, "adv_estimator", "use_kl_in_reward", "kl_reward_coef", "use_kl_loss", "group_size") == {
        "adv_estimator": "rloo",
        "use_kl_in_reward": True,
        "kl_reward_coef": 0.05,
        "use_kl_loss": False,
        "group_size": 4,
    }


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("GRPOTrainer(model='a/b', args=GRPOConfig(num_generations=4))", 0),
        ("GRPOTrainer(model='a/b', args=GRPOConfig(num_generations=4), peft_config=None)", 0),
        ("GRPOTrainer(model='a/b', args=GRPOConfig(num_generations=4), peft_config=LoraConfig(r=8))", 8),
        ("GRPOTrainer(model='a/b', args=GRPOConfig(num_generations=4), peft_config=get_peft_config(x))", "open"),
        ("GRPOConfig(num_generations=4)", "open"),
    ],
)
def test_adapter_in_python(run_of: RunOf, text: str, rank: Any) -> None:
    assert run_of({"t.py": text + "\n"}, trl="0.24.0").value("lora_rank", "open") == rank


def test_without_use_peft_lora_options_mean_nothing(run_of: RunOf) -> None:
    run = run_of({"run.sh": "trl grpo --output_dir out --lora_r 64 --lora_alpha 16\n"}, trl="0.24.0")

    assert run.value("lora_rank") == 0
    assert "lora_alpha" not in run.settings


@pytest.mark.parametrize(
    ("text", "version", "dtype"),
    [
        ("GRPOConfig(num_generations=4, model_init_kwargs={'torch_dtype': 'bf16'})", "0.20.0", "bfloat16"),
        ("GRPOConfig(num_generations=4, model_init_kwargs=dict(dtype=torch.float16))", "0.24.0", "float16"),
        ("GRPOTrainer(model='a/b', args=GRPOConfig(num_generations=4))", "0.27.0", "float32"),
        ("GRPOTrainer(model=model, args=GRPOConfig(num_generations=4))", "0.27.0", "open"),
        ("GRPOTrainer(model='a/b', args=GRPOConfig(num_generations=4))", "0.20.0", "open"),
    ],
)
def test_dtype_of_the_model(run_of: RunOf, text: str, version: str, dtype: str) -> None:
    assert run_of({"t.py": text + "\n"}, trl=version).value("model_dtype", "open") == dtype


# -- around the trainer --


def test_accelerate_config_that_ships_with_trl(run_of: RunOf) -> None:
    command = "trl grpo --output_dir out --accelerate_config zero3 --num_processes 4 --max_grad_norm 0.5\n"
    run = run_of({"run.sh": command}, **VERSIONS | {"trl": "1.9.0"})

    assert values(run, "world_size", "sharding_backend", "zero_stage", "overlap_comm", "grad_clip") == {
        "world_size": 4,
        "sharding_backend": "deepspeed",
        "zero_stage": 3,
        "overlap_comm": True,
        "grad_clip": 0.5,  # "auto" is filled from max_grad_norm
    }
    assert run.settings["zero_stage"].note == "in TRL's zero3.yaml"


def test_before_0_29_launch_options_of_the_command_do_not_count(run_of: RunOf) -> None:
    command = "trl grpo --output_dir out --accelerate_config zero3 --num_processes 4\n"
    run = run_of({"run.sh": command}, trl="0.28.0")

    assert values(run, "world_size", "sharding_backend") == {"world_size": "open", "sharding_backend": "open"}


DS = """{
  "zero_optimization": {"stage": 2, "overlap_comm": true, "offload_optimizer": {"device": "cpu"}},
  "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"}%s
}"""


@pytest.mark.parametrize(
    ("clipping", "clip", "ignored"),
    [(', "gradient_clipping": "auto"', 0.3, "open"), (', "gradient_clipping": 1.5', 1.5, 0.3), ("", 0.0, 0.3)],
)
def test_deepspeed_clips_by_its_own_setting(run_of: RunOf, clipping: str, clip: float, ignored: Any) -> None:
    files = {
        "ds.json": DS % clipping,
        "run.sh": "torchrun --nproc_per_node 8 train.py --deepspeed ds.json --num_generations 8 "
        "--output_dir out --max_grad_norm 0.3 --bf16 true\n",
    }
    run = run_of(files, "run.sh", **VERSIONS)

    assert values(run, "grad_clip", "grad_clip_ignored") == {"grad_clip": clip, "grad_clip_ignored": ignored}
    assert values(run, "sharding_backend", "zero_stage", "overlap_comm", "optimizer", "micro_batch_per_gpu") == {
        "sharding_backend": "deepspeed",
        "zero_stage": 2,
        "overlap_comm": True,
        "optimizer": "cpu_adam",
        "micro_batch_per_gpu": 8,
    }


def test_files_given_together_are_one_run(run_of: RunOf) -> None:
    run = run_of({"recipe.yaml": YAML, "zero2.yaml": ZERO2}, **VERSIONS)

    assert run.framework == "trl"
    assert values(run, "world_size", "zero_stage", "grad_clip", "generation_batch_size") == {
        "world_size": 8,
        "zero_stage": 2,
        "grad_clip": 0.2,
        "generation_batch_size": 64,
    }


def test_a_ds_config_that_is_not_found_is_open(run_of: RunOf) -> None:
    run = run_of({"run.sh": "torchrun --nproc_per_node 2 t.py --deepspeed ds.json --num_generations 2 --bf16 true\n"})

    assert values(run, "sharding_backend", "zero_stage", "grad_clip") == {
        "sharding_backend": "deepspeed",
        "zero_stage": "open",
        "grad_clip": "open",
    }


def test_fsdp_argument_of_the_trainer(run_of: RunOf) -> None:
    text = "GRPOConfig(num_generations=4, fsdp='full_shard auto_wrap', fsdp_config={'fsdp_version': 2})\n"

    assert values(run_of({"t.py": text}, trl="0.24.0"), "sharding_backend", "fsdp_version", "zero_stage") == {
        "sharding_backend": "fsdp2",
        "fsdp_version": 2,
        "zero_stage": 0,
    }


def test_vllm_server_of_trl(run_of: RunOf) -> None:
    run = run_of({"serve.sh": "trl vllm-serve --model Qwen/Qwen3-8B --tensor-parallel-size 2\n"}, trl="0.24.0")

    assert values(run, "rollout_engine", "rollout_mode", "rollout_tensor_parallel", "model") == {
        "rollout_engine": "vllm",
        "rollout_mode": "server",
        "rollout_tensor_parallel": 2,
        "model": "Qwen/Qwen3-8B",
    }
    assert "group_size" not in run.settings


# -- names that the reader does not know --


@pytest.mark.parametrize(
    ("files", "version", "told"),
    [
        ({"run.sh": "trl grpo --num_generation_ 8 --output_dir o\n"}, "1.9.0", {"--num_generation_": True}),
        ({"run.sh": "trl grpo --answer_style short --output_dir o\n"}, "1.9.0", {"--answer_style": True}),
        ({"run.sh": "trl grpo --answer_style short --output_dir o\n"}, "0.26.0", {"--answer_style": False}),
        ({"run.sh": "trl grpo --max_prompt_length 512 --output_dir o\n"}, "0.29.0", {"--max_prompt_length": True}),
        (
            {"run.sh": "accelerate launch my.py --num_generatons 8 --use_vllm --bf16\n"},
            "1.9.0",
            {"--num_generatons": False},
        ),
        ({"run.sh": "accelerate launch my.py --answer_style short --use_vllm --bf16\n"}, "1.9.0", {}),
        ({"t.py": "GRPOConfig(num_generations=4, reward_mode='x')\n"}, "1.9.0", {"reward_mode": True}),
        ({"r.yaml": YAML + "system_prompt: think\ncode_language: python\n"}, "0.22.2", {}),
        ({"r.yaml": YAML + "max_completion_lenght: 9\n"}, "0.22.2", {"max_completion_lenght": False}),
    ],
)
def test_unknown_names(run_of: RunOf, files: dict[str, str], version: str, told: dict[str, bool]) -> None:
    run = run_of(files, trl=version, transformers="4.56.2")

    assert {row.key: row.fatal for row in run.unknown_keys} == told


def test_without_a_version_a_name_of_another_release_is_not_accused(run_of: RunOf) -> None:
    run = run_of({"run.sh": "trl grpo --output_dir o --max_prompt_length 512 --torch_dtype bfloat16\n"})

    assert run.unknown_keys == []


# -- a part of a run --


@pytest.mark.parametrize(
    ("files", "partial"),
    [
        ({"flags.txt": "--num_generations 1 \\\n--beta 0.04\n"}, "only a part of the run was given"),
        ({"part.yaml": "num_generations: 1\n"}, "only a part of the run was given"),
        ({"r.yaml": YAML}, ""),
        ({"run.sh": "trl grpo --num_generations 8\n"}, ""),
        ({"run.sh": "accelerate launch t.py --num_generations 8 --output_dir o --use_vllm\n"}, ""),
        ({"run.sh": "accelerate launch t.py --config r.yaml --stage 2\n", "r.yaml": YAML}, ""),
        (
            {"run.sh": "accelerate launch t.py --num_generations 8 --use_vllm --answer_style short\n"},
            "t.py may set in code what its command line does not say",
        ),
    ],
)
def test_where_an_unset_key_need_not_have_its_default(run_of: RunOf, files: dict[str, str], partial: str) -> None:
    run = run_of(files, trl="0.22.2")

    assert run.framework == "trl"
    assert run.partial == partial
    assert run.value("group_size") in (1, 8, 14)


# -- batch table --


def test_batch_table(run_of: RunOf) -> None:
    flags = (
        "--num_generations 8 --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --steps_per_generation 8 "
        "--num_iterations 2 --max_prompt_length 256 --max_completion_length 768"
    )
    run = run_of({"run.sh": f"trl grpo --output_dir out {flags}\n"}, world_size=4, trl="0.22.2")

    assert batch(run) == {
        "micro_steps": 2,
        "samples_per_gpu": 8,
        "samples_per_optimizer_step": 32,
        "samples_per_step": 128,
        "prompts_per_step": 16,
        "optimizer_steps_per_rollout": 8,
        "tokens_per_step": 131_072,
        "formula": {
            "samples_per_gpu": "4 x 2",
            "samples_per_optimizer_step": "4 x 2 x 4",
            "samples_per_step": "4 x 4 x 8",
            "prompts_per_step": "128 / 8",
            "optimizer_steps_per_rollout": "8 x 2 / 2",
            "tokens_per_step": "128 x (256 + 768)",
        },
    }


def test_batch_table_says_only_what_can_be_computed(run_of: RunOf) -> None:
    run = run_of({"run.sh": "trl grpo --output_dir out --per_device_train_batch_size 4\n"}, trl="0.22.2")

    assert batch(run) == {
        "micro_steps": 1,
        "samples_per_gpu": 4,
        "optimizer_steps_per_rollout": 1,
        "formula": {"samples_per_gpu": "4 x 1", "optimizer_steps_per_rollout": "1 x 1 / 1"},
    }


# -- what is TRL's --


def command(program: str, *flags: str) -> Part:
    return Part("shell", "run.sh", program=program, entries=[Entry(flag, True, "run.sh", 1) for flag in flags])


@pytest.mark.parametrize(
    ("part", "claimed"),
    [
        (command("trl grpo"), True),
        (command("trl vllm-serve"), True),
        (command("trl.scripts.grpo"), True),
        (command("src/open_r1/grpo.py", "--config"), True),
        (command("train.py", "--num_generations", "--output_dir"), True),
        (command("train.py", "--num-generations", "--use-vllm"), True),
        (command("train.py", "--num_generations"), False),
        (command("swift rlhf", "--num_generations", "--output_dir"), False),
        (command("run_grpo_math.py", "--config"), False),
        (command("finetune.py", "--output_dir", "--learning_rate"), False),
        (Part("python", "t.py", program="GRPOConfig"), True),
        (Part("python", "t.py", program="LoraConfig"), False),
        (Part("yaml", "r.yaml", data={"num_generations": 8, "output_dir": "o"}), True),
        (Part("yaml", "r.yaml", data={"num_generations": 8, "rlhf_type": "grpo", "output_dir": "o"}), False),
        (Part("yaml", "r.yaml", data={"output_dir": "o", "learning_rate": 1e-5}), False),
    ],
    ids=lambda value: value.program or value.path if isinstance(value, Part) else None,
)
def test_claims(part: Part, claimed: bool) -> None:
    assert (claims(part) > 20) is claimed  # accelerate's launcher claims 20
