"""A hazard is one rule, whatever framework a run is written in.

Each hazard stands in the native syntax of every framework that can express it; the same rule finds it in each of them,
and finds nothing in the same run without it.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from grpo_guard.store.index import index
from grpo_guard.validate import validate_text

# Healthy runs: a launch that takes more words at its end, or a YAML that takes more keys
LAUNCHES = {
    "verl": "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.rollout.n=8 data.train_batch_size=256 actor_rollout_ref.actor.ppo_mini_batch_size=64 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 trainer.n_gpus_per_node=8 trainer.nnodes=1",
    "easyr1": "python3 -m verl.trainer.main worker.actor.model.model_path=Qwen/Qwen3-4B worker.rollout.n=5 "
    "trainer.n_gpus_per_node=8",
    "rllm": "python3 -m rllm.trainer.verl.train_agent_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8 "
    "data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=64 "
    "actor_rollout_ref.rollout.mode=async trainer.n_gpus_per_node=8",
    "skyrl": "uv run --isolated --extra fsdp -m skyrl.train.entrypoints.main_base "
    "trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct trainer.placement.policy_num_gpus_per_node=4 "
    "trainer.placement.ref_num_gpus_per_node=4 generator.inference_engine.num_engines=4 "
    "trainer.train_batch_size=1024 trainer.policy_mini_batch_size=256 generator.n_samples_per_prompt=8",
    "nemo-rl": "uv run examples/run_grpo.py --config examples/configs/grpo_math_1B.yaml",
    "openrlhf": "python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 4 "
    "--ref.num_nodes 1 --ref.num_gpus_per_node 4 --train.colocate_actor_ref --vllm.num_engines 4 "
    "--actor.model_name_or_path Qwen/Qwen2.5-7B-Instruct --algo.advantage.estimator group_norm "
    "--train.micro_batch_size 4 --train.batch_size 1024 --rollout.batch_size 128 --rollout.n_samples_per_prompt "
    "8 --ds.zero_stage 3",
    "slime": "python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint /m/Qwen3-4B "
    "--num-rollout 100 --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 256 "
    "--advantage-estimator grpo --num-layers 36 --hidden-size 2560 --num-attention-heads 32 --lr 1e-6",
    "megatron": "torchrun --nproc_per_node 8 train_rl.py --perform-rl-step --num-layers 32 --hidden-size 4096 "
    "--num-attention-heads 32 --micro-batch-size 1 --global-batch-size 256 --grpo-group-size 16 "
    "--grpo-prompts-per-step 16 --lr 1e-6 --bf16",
    "ms-swift": "NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora "
    "--use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.5 --dataset data.jsonl --reward_funcs "
    "accuracy "
    "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --num_generations 8 --torch_dtype bfloat16",
    "vllm": "vllm serve Qwen/Qwen3-4B --max-model-len 8192",
    "sglang": "python3 -m sglang.launch_server --model-path Qwen/Qwen3-4B",
}  # fmt: skip
CONFIGS = {
    "trl": "{model_name_or_path: Qwen/Qwen3-4B, dataset_name: d, output_dir: out, learning_rate: 1.0e-6, bf16: true, "
    "per_device_train_batch_size: 8, gradient_accumulation_steps: 4, num_generations: 8, loss_type: dapo}",
    "areal": "{experiment_name: e, trial_name: t, cluster: {n_nodes: 1, n_gpus_per_node: 8}, rollout: {backend: "
    "'sglang:d4p1t1'}, gconfig: {n_samples: 8, max_new_tokens: 1024, temperature: 1.0}, actor: {backend: "
    "'fsdp:d4p1t1', "
    "path: Qwen/Qwen2.5-1.5B-Instruct, kl_ctl: 0.0}, train_dataset: {path: d, type: rl, batch_size: 256}}",
    "axolotl": "{base_model: Qwen/Qwen2.5-7B-Instruct, rl: grpo, trl: {num_generations: 8, use_vllm: true, vllm_mode: "
    "colocate}, vllm: {gpu_memory_utilization: 0.4}, micro_batch_size: 8, gradient_accumulation_steps: 2, "
    "learning_rate: 1.0e-6, bf16: true, "
    "datasets: [{path: d, type: r}], output_dir: out}",
    "llama-factory": "{model_name_or_path: Qwen/Qwen2.5-7B-Instruct, stage: ppo, do_train: true, "
    "finetuning_type: lora, "
    "lora_target: all, reward_model: r, dataset: identity, template: qwen, output_dir: out, "
    "per_device_train_batch_size: 1, gradient_accumulation_steps: 8, learning_rate: 1.0e-5, bf16: true}",
    "deepspeed": "{train_micro_batch_size_per_gpu: 2, gradient_accumulation_steps: 4, bf16: {enabled: true}, "
    "gradient_clipping: 1.0, zero_optimization: {stage: 1, overlap_comm: false}}",
    "accelerate": "{compute_environment: LOCAL_MACHINE, distributed_type: DEEPSPEED, mixed_precision: bf16, "
    "num_processes: 8, deepspeed_config: {zero_stage: 1, gradient_clipping: 1.0}}",
    "megatron-bridge": "{train: {train_iters: 100, global_batch_size: 128, micro_batch_size: 2}, model: {seq_length: "
    "4096, tensor_model_parallel_size: 2, sequence_parallel: true}, optimizer: {lr: 0.0001, clip_grad: 1.0}, "
    "ddp: {use_distributed_optimizer: true}}",
}
VERSIONS = {
    "verl": "0.9.0", "easyr1": "0.3.2", "rllm": "0.2.1", "skyrl": "0.3.0", "nemo-rl": "0.7.0", "openrlhf": "0.11.0",
    "slime": "0.3.1", "megatron": "0.19.0", "ms-swift": "4.5.3", "vllm": "0.33.0", "sglang": "0.5.9", "trl": "1.9.0",
    "areal": "2.0.0", "axolotl": "0.18.0", "llama-factory": "0.9.3", "deepspeed": "0.19.6", "accelerate": "1.14.0",
    "megatron-bridge": "0.6.0",
}  # fmt: skip

SEGMENTS = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
V, R = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
MOE = "--num-experts 128 --moe-router-topk 8"
# rule: {framework: what is added}; with a dict of versions where the hazard belongs to certain releases
HAZARDS: dict[str, dict[str, Any]] = {
    "one-sample-groups": {
        "verl": f"{R}.n=1",
        "easyr1": "worker.rollout.n=1",
        "rllm": f"{R}.n=1",
        "skyrl": "generator.n_samples_per_prompt=1",
        "nemo-rl": "grpo.num_generations_per_prompt=1",
        "openrlhf": "--algo.advantage.estimator rloo --rollout.n_samples_per_prompt 1",
        "slime": "--n-samples-per-prompt 1",
        "areal": "{gconfig: {n_samples: 1}, actor: {reward_norm: {mean_level: group, group_size: 1}}}",
        "trl": "num_generations: 1",
        "ms-swift": "--num_generations 1",
        "axolotl": "trl: {num_generations: 1}",
    },
    "small-groups": {
        "verl": f"{R}.n=2",
        "skyrl": "generator.n_samples_per_prompt=2",
        "nemo-rl": "grpo.num_generations_per_prompt=2",
        "slime": "--n-samples-per-prompt 2",
        "megatron": "--grpo-group-size 2",
        "trl": "num_generations: 2",
        "ms-swift": "--num_generations 2",
    },
    "zero-temperature-rollout": {
        "verl": f"{R}.temperature=0",
        "easyr1": "worker.rollout.temperature=0",
        "rllm": f"{R}.temperature=0",
        "skyrl": "generator.sampling_params.temperature=0",
        "nemo-rl": "policy.generation.temperature=0",
        "openrlhf": "--rollout.temperature 0",
        "slime": "--rollout-temperature 0",
        "areal": "gconfig: {temperature: 0}",
        "trl": "temperature: 0.0",
        "ms-swift": "--temperature 0",
        "axolotl": "trl: {temperature: 0.0}",
    },
    "clipping-switched-off": {
        "skyrl": "trainer.policy.optimizer_config.max_grad_norm=0",
        "slime": "--clip-grad 0",
        "megatron": "--clip-grad 0",
        "trl": "max_grad_norm: 0",
        "ms-swift": "--max_grad_norm 0",
        "axolotl": "max_grad_norm: 0",
        "llama-factory": "max_grad_norm: 0",
        "deepspeed": "gradient_clipping: 0",
        "megatron-bridge": "optimizer: {clip_grad: 0}",
    },
    "zero-gradient-clipping": {
        "verl": f"{V}.optim.clip_grad=0",
        "areal": "actor: {optimizer: {gradient_clipping: 0.0}}",
    },
    "bf16-and-fp16": {
        "deepspeed": "fp16: {enabled: true}",
        "megatron": "--fp16",
        "trl": "fp16: true",
        "ms-swift": "--bf16 true --fp16 true",
        "llama-factory": "fp16: true",
    },
    "moe-in-fp16": {
        "verl": f"actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B {R}.dtype=float16",
        "slime": f"{MOE} --fp16",
        "trl": "{model_name_or_path: Qwen/Qwen3-30B-A3B, bf16: false, fp16: true}",
        "ms-swift": "--model Qwen/Qwen3-30B-A3B --torch_dtype float16",
        "skyrl": "trainer.policy.model.path=Qwen/Qwen3-30B-A3B generator.inference_engine.model_dtype=float16",
        "nemo-rl": "policy.model_name=Qwen/Qwen3-30B-A3B policy.generation.vllm_cfg.precision=float16",
    },
    "rollout-dtype-differs-from-trainer": {
        "verl": f"{R}.dtype=float16",
        "skyrl": "generator.inference_engine.model_dtype=float16",
        "nemo-rl": "policy.generation.vllm_cfg.precision=float16",
    },
    "moe-router-in-model-dtype": {
        "verl": f"{V}.strategy=megatron actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B",
        "slime": MOE,
        "megatron": MOE,
    },
    "expandable-segments-with-memory-saver": {
        "verl": f"{SEGMENTS}{R}.name=sglang",
        "slime": f"{SEGMENTS}--colocate",
        "sglang": f"{SEGMENTS}--enable-memory-saver",
    },
    "expandable-segments-with-sleep": {
        "verl": (SEGMENTS, {"vllm": "0.12.0"}),
        "openrlhf": (f"{SEGMENTS}--vllm.enable_sleep --train.colocate_all", {"vllm": "0.12.0"}),
        "vllm": (f"{SEGMENTS}--enable-sleep-mode", {"vllm": "0.12.0"}),
        "skyrl": (SEGMENTS, {"vllm": "0.12.0"}),
        "nemo-rl": (SEGMENTS, {"vllm": "0.12.0"}),
        "ms-swift": (f"{SEGMENTS}--sleep_level 1", {"vllm": "0.12.0"}),
    },
    "batched-tokens-below-model-length": {
        "verl": (
            f"{R}.enable_chunked_prefill=false {R}.max_num_batched_tokens=4096 {R}.max_model_len=8192",
            {"vllm": "0.12.0"},
        ),
        "vllm": "--no-enable-chunked-prefill --max-num-batched-tokens 4096",
        "nemo-rl": (
            "++policy.generation.vllm_kwargs.enable_chunked_prefill=false "
            "++policy.generation.vllm_kwargs.max_num_batched_tokens=256",
            {"vllm": "0.12.0"},
        ),
    },
    "batched-tokens-below-sequences": {
        "verl": f"{R}.max_num_batched_tokens=512 {R}.max_num_seqs=1024",
        "vllm": "--max-num-batched-tokens 512 --max-num-seqs 1024",
        "skyrl": "generator.inference_engine.max_num_batched_tokens=512",
        "nemo-rl": "++policy.generation.vllm_kwargs.max_num_batched_tokens=512 "
        "++policy.generation.vllm_kwargs.max_num_seqs=1024",
        "ms-swift": "--vllm_max_num_seqs 1024 --vllm_engine_kwargs '{\"max_num_batched_tokens\": 512}'",
    },
    "lora-rank-above-engine-limit": {
        "areal": "{rollout: {backend: 'vllm:d4p1t1'}, actor: {use_lora: true, lora_rank: 32}, vllm: "
        "{enable_lora: true}}",
        "skyrl": "trainer.policy.model.lora.rank=32 generator.inference_engine.engine_init_kwargs.max_lora_rank=16",
    },
    "raw-log-probs-at-temperature": {
        "verl": f"{R}.calculate_log_probs=true {R}.logprobs_mode=raw_logprobs {R}.temperature=0.7",
        "trl": (
            "{use_vllm: true, vllm_mode: server, temperature: 0.7, vllm_importance_sampling_correction: true}",
            {"trl": "0.26.0"},
        ),
    },
    "truncated-sampling-with-rollout-correction": {
        "verl": f"{R}.calculate_log_probs=true algorithm.rollout_correction.rollout_is=token {R}.top_p=0.9",
        "trl": "{use_vllm: true, vllm_mode: colocate, vllm_importance_sampling_correction: true, top_p: 0.9}",
        "ms-swift": "--rollout_importance_sampling_mode token_truncate --top_p 0.9",
    },
    "kl-in-loss-and-reward": {
        "verl": f"{V}.use_kl_loss=true algorithm.use_kl_in_reward=true",
        "skyrl": "trainer.algorithm.use_kl_loss=true trainer.algorithm.use_kl_in_reward=true",
        "slime": "--use-kl-loss --kl-loss-coef 0.01 --kl-coef 0.01",
    },
    "kl-loss-coefficient-without-switch": {"verl": f"{V}.kl_loss_coef=0.01", "slime": "--kl-loss-coef 0.01"},
    "router-replay-without-rollout-routes": {
        "verl": f"{V}.strategy=megatron {V}.router_replay.mode=R3 actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B",
        "skyrl": "trainer.strategy=megatron trainer.policy.megatron_config.moe_enable_routing_replay=true",
    },
    "sequence-ratio-with-token-loss": {
        "trl": "importance_sampling_level: sequence",
        "nemo-rl": "loss_fn.sequence_level_importance_ratios=true loss_fn.token_level_loss=true",
    },
    "sampling-and-scoring-temperatures-differ": {
        "areal": "{gconfig: {temperature: 0.7}, actor: {temperature: 1.0}}",
        "trl": "{use_vllm: true, vllm_mode: colocate, generation_kwargs: {temperature: 0.7}}",
    },
    "lora-alpha-zero": {
        "verl": "actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.model.lora_alpha=0",
        "skyrl": "trainer.policy.model.lora.rank=32 trainer.policy.model.lora.alpha=0",
        "nemo-rl": "policy.dtensor_cfg.lora_cfg.enabled=true policy.dtensor_cfg.lora_cfg.alpha=0",
        "trl": "{use_peft: true, lora_r: 16, lora_alpha: 0}",
        "ms-swift": "--lora_alpha 0",
        "openrlhf": "--ds.lora.rank 16 --ds.lora.alpha 0",
        "axolotl": "{adapter: lora, lora_r: 16, lora_alpha: 0, lora_target_linear: true}",
    },
    "muon-with-fp16": {
        "megatron": "--optimizer muon --fp16",
        "slime": "--optimizer muon --fp16",
    },
    "muon-clipped-after-orthogonalization": {
        "deepspeed": "optimizer: {type: Muon, params: {lr: 0.001}}",
        "openrlhf": "--actor.optim muon --actor.max_norm 1.0",
    },
    "zero2-drops-micro-gradients": {
        "deepspeed": ("zero_optimization: {stage: 2}", {"deepspeed": "0.18.1"}),
        "accelerate": (
            "deepspeed_config: {zero_stage: 2, gradient_accumulation_steps: 4}",
            {"deepspeed": "0.18.1"},
        ),
    },
    "zero3-on-one-gpu": {
        "openrlhf": "--actor.num_gpus_per_node 1 --ref.num_gpus_per_node 1",
        "accelerate": "{num_processes: 1, deepspeed_config: {zero_stage: 3}}",
    },
    "overlap-comm-frees-buffers": {
        "deepspeed": ("zero_optimization: {stage: 2, overlap_comm: true}", {"deepspeed": "0.18.9"}),
        "openrlhf": ("--ds.zero_stage 2 --ds.overlap_comm", {"deepspeed": "0.18.9"}),
    },
    "megatron-needs-one-connection": {
        "verl": "export CUDA_DEVICE_MAX_CONNECTIONS=8\n"
        f"{V}.strategy=megatron {V}.megatron.tensor_model_parallel_size=2",
        "megatron": "export CUDA_DEVICE_MAX_CONNECTIONS=8\n--tensor-model-parallel-size 2",
        "slime": "export CUDA_DEVICE_MAX_CONNECTIONS=8\n--tensor-model-parallel-size 2",
    },
    "parallel-size-does-not-divide-gpus": {
        "verl": f"{V}.strategy=megatron {V}.megatron.tensor_model_parallel_size=3",
        "megatron": "--tensor-model-parallel-size 3",
        "slime": "--tensor-model-parallel-size 3",
        "nemo-rl": "cluster.gpus_per_node=8 policy.dtensor_cfg.tensor_parallel_size=3",
    },
    "global-batch-not-divisible-by-micro-batches": {
        "megatron": "--global-batch-size 252 --grpo-prompts-per-step 63 --micro-batch-size 16",
        "slime": "--global-batch-size 252 --micro-batch-size 16",
    },
    "grpo-rollout-not-in-global-batches": {
        "megatron": "--global-batch-size 96",
        "slime": ("--global-batch-size 96", {"slime": "0.2.1"}),
    },
    "dual-clip-below-one": {"nemo-rl": "loss_fn.ratio_clip_c=0.5", "areal": "actor: {c_clip: 0.5}"},
}


CASES = [
    pytest.param(rule, framework, added, id=f"{rule}-{framework}")
    for rule, rows in HAZARDS.items()
    for framework, added in rows.items()
]


def package_of(framework: str) -> str:
    return {"megatron": "megatron-core"}.get(framework, index()["adapters"][framework]["package"])


def found(framework: str, added: str, versions: dict[str, str]) -> dict[str, Any]:
    """Rule -> finding for a healthy run of the framework with these settings added."""
    if framework in CONFIGS:
        text = yaml.safe_dump(laid_over(yaml.safe_load(CONFIGS[framework]), yaml.safe_load(added) or {}))
    else:
        environment, _, words = added.rpartition("\n")
        text = f"{environment}\n{LAUNCHES[framework]} {words}\n"
    stated = {package_of(framework): VERSIONS[framework], **versions}
    report = validate_text(text, framework=framework, versions=stated)
    assert [row.key for row in report.unknown_keys] == []
    return {finding.rule: finding for finding in report.findings}


def laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        below[key] = laid_over(below[key], value) if both else value
    return below


@pytest.mark.parametrize("rule, framework, added", CASES)
def test_the_rule_finds_it(rule: str, framework: str, added: Any) -> None:
    settings, versions = added if isinstance(added, tuple) else (added, {})
    assert rule in found(framework, settings, versions)
    assert rule not in found(framework, "", versions), "the run without it has the finding, too"


@pytest.mark.parametrize("framework", LAUNCHES.keys() | CONFIGS.keys())
def test_the_runs_are_healthy(framework: str) -> None:
    faults = [name for name, finding in found(framework, "", {}).items() if finding.severity != "info"]
    assert faults == []


def test_each_hazard_stands_in_two_frameworks_at_least() -> None:
    assert [rule for rule, rows in HAZARDS.items() if len(rows) < 2] == []
    assert len(HAZARDS) >= 12
