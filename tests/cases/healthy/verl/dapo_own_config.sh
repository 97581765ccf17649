#!/usr/bin/env bash
# grpo-guard-test: --version verl=0.8.0
# expect: samples_per_step=2048 prompts_per_step=128
# A recipe with a primary config of its own, which builds on verl's.
set -xeuo pipefail
python3 -m recipe.dapo.main_dapo \
    --config-name=dapo_trainer \
    data.train_files=$HOME/data/dapo-math-17k.parquet \
    data.val_files=$HOME/data/aime-2024.parquet \
    data.max_prompt_length=2048 \
    data.max_response_length=8192 \
    data.train_batch_size=128 \
    data.gen_batch_size=384 \
    algorithm.filter_groups.enable=True \
    algorithm.filter_groups.metric=acc \
    algorithm.filter_groups.max_num_gen_batches=10 \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=20480 \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=16 \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True \
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=20480 \
    trainer.n_gpus_per_node=8 trainer.nnodes=4
