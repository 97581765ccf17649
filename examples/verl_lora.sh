#!/usr/bin/env bash
# GRPO with LoRA on one node, verl 0.8.0
set -xeuo pipefail

NGPUS=${NGPUS:-8}
MODEL=${MODEL:-Qwen/Qwen2.5-7B-Instruct}

DATA=(
    data.train_files="$HOME/data/gsm8k/train.parquet"
    data.val_files="$HOME/data/gsm8k/test.parquet"
    data.train_batch_size=256
    data.max_prompt_length=512
    data.max_response_length=1024
)
ACTOR=(
    actor_rollout_ref.model.path=$MODEL
    actor_rollout_ref.model.lora_rank=32
    actor_rollout_ref.model.lora_alpha=64
    actor_rollout_ref.model.lora.merge=True
    actor_rollout_ref.actor.strategy=fsdp2
    actor_rollout_ref.actor.ppo_mini_batch_size=96
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8
    actor_rollout_ref.actor.grad_clip=0.5
)
ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n=8
    actor_rollout_ref.rollout.tensor_model_parallel_size=2
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16
)

python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    "${DATA[@]}" "${ACTOR[@]}" "${ROLLOUT[@]}" \
    trainer.n_gpus_per_node=$NGPUS \
    trainer.nnodes=1 "$@"
