#!/usr/bin/env bash
# GRPO on one node of eight GPUs: the shape of launch script that people write for verl. 60 lines, nothing exotic.
set -xeuo pipefail

export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export NCCL_DEBUG=WARN
export TOKENIZERS_PARALLELISM=true

project=math-grpo
model=${MODEL:-Qwen/Qwen3-8B}
data=${DATA:-$HOME/data/gsm8k}
run=${project}-$(date +%m%d)

gpus=8
nodes=${NNODES:-1}
prompts=256
group=8
mini=64
max_prompt=1024
max_response=4096
tokens_per_gpu=$(((max_prompt + max_response) * 2))

if [ "${LOGGER:-console}" = "wandb" ]; then
    logger='["console","wandb"]'
else
    logger='["console"]'
fi

python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    algorithm.use_kl_in_reward=False \
    data.train_files="$data/train.parquet" \
    data.val_files="$data/test.parquet" \
    data.train_batch_size=$prompts \
    data.max_prompt_length=$max_prompt \
    data.max_response_length=$max_response \
    data.filter_overlong_prompts=True \
    data.truncation=error \
    actor_rollout_ref.model.path="$model" \
    actor_rollout_ref.model.use_remove_padding=True \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=$mini \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=$tokens_per_gpu \
    actor_rollout_ref.actor.use_kl_loss=True \
    actor_rollout_ref.actor.kl_loss_coef=0.001 \
    actor_rollout_ref.actor.kl_loss_type=low_var_kl \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=$group \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \
    trainer.logger="$logger" \
    trainer.project_name=$project \
    trainer.experiment_name=$run \
    trainer.n_gpus_per_node=$gpus \
    trainer.nnodes=$nodes \
    trainer.save_freq=20 \
    trainer.test_freq=5 \
    trainer.total_epochs=3 "$@"
