#!/usr/bin/env bash
# grpo-guard-test: --version verl=0.9.0
# expect: prompts_per_step=256 samples_per_step=2048
# Two launches in one file, each complete; a loop over seeds around the first.
set -eu
BASE=(
    algorithm.adv_estimator=grpo
    data.train_files=/data/train.parquet
    data.val_files=/data/test.parquet
    data.train_batch_size=256
    data.max_prompt_length=512
    data.max_response_length=1024
    actor_rollout_ref.model.path=Qwen/Qwen2.5-1.5B-Instruct
    actor_rollout_ref.actor.optim.lr=1e-6
    actor_rollout_ref.actor.ppo_mini_batch_size=64
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.tensor_model_parallel_size=1
    actor_rollout_ref.rollout.n=8
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=32
    trainer.n_gpus_per_node=8
    trainer.nnodes=1
)
for seed in 1 2; do
    python3 -m verl.trainer.main_ppo "${BASE[@]}" data.seed=$seed trainer.experiment_name="plain-$seed"
done
python3 -m verl.trainer.main_ppo "${BASE[@]}" actor_rollout_ref.actor.use_kl_loss=True \
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=32 trainer.experiment_name=with-kl
