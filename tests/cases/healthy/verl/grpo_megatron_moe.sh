#!/usr/bin/env bash
# grpo-guard-test: --version verl=0.9.1
# expect: prompts_per_step=256 samples_per_step=4096
# Mixture of experts on Megatron: the router in fp32, experts over 8 ranks, vLLM with expert parallelism.
set -xeuo pipefail
export CUDA_DEVICE_MAX_CONNECTIONS=1

train_tp=${TRAIN_TP:-2}
train_pp=${TRAIN_PP:-2}
train_ep=${TRAIN_EP:-8}
gen_tp=${GEN_TP:-4}
max_prompt=$((1024 * 2))
max_response=$((1024 * 8))
budget=$(((max_prompt + max_response) * 2))

ACTOR=(
    model_engine=megatron
    actor_rollout_ref.model.path="${MODEL_PATH:-Qwen/Qwen3-30B-A3B}"
    actor_rollout_ref.actor.optim.lr=1e-6
    actor_rollout_ref.actor.optim.clip_grad=1.0
    actor_rollout_ref.actor.ppo_mini_batch_size=64
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${budget}
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=${train_tp}
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=${train_pp}
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=${train_ep}
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1
    actor_rollout_ref.actor.megatron.use_mbridge=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1
    actor_rollout_ref.actor.policy_loss.loss_mode=gspo
    actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-mean
    actor_rollout_ref.actor.clip_ratio_low=3e-4
    actor_rollout_ref.actor.clip_ratio_high=4e-4
)
ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.tensor_model_parallel_size=${gen_tp}
    actor_rollout_ref.rollout.expert_parallel_size=${gen_tp}
    actor_rollout_ref.rollout.n=16
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=${budget}
)
uv run --extra vllm --extra megatron python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files=$HOME/data/dapo-math-17k.parquet \
    data.val_files=$HOME/data/aime-2024.parquet \
    data.train_batch_size=256 \
    data.max_prompt_length=${max_prompt} \
    data.max_response_length=${max_response} \
    "${ACTOR[@]}" "${ROLLOUT[@]}" \
    trainer.n_gpus_per_node=8 \
    trainer.nnodes=${NNODES:-4} "$@"
