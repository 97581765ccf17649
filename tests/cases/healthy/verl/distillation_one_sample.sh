#!/usr/bin/env bash
# grpo-guard-test: --version verl=0.9.1
# expect: prompts_per_step=128 samples_per_step=128
# On-policy distillation: the teacher gives the signal, so one sample a prompt is right.
set -xeuo pipefail
STUDENT_MODEL=${STUDENT_MODEL:-Qwen/Qwen3-8B-Base}
TEACHER_MODEL=${TEACHER_MODEL:-Qwen/Qwen3-32B}
max_len=$((1024 + 4096 + 1))

DISTILLATION=(
    distillation.enabled=True
    distillation.n_gpus_per_node=4
    distillation.nnodes=1
    distillation.teacher_models.teacher_model.model_path="${TEACHER_MODEL}"
    distillation.teacher_models.teacher_model.inference.name=vllm
    distillation.teacher_models.teacher_model.inference.tensor_model_parallel_size=4
    distillation.teacher_models.teacher_model.inference.max_model_len=${max_len}
    distillation.distillation_loss.loss_mode=k1
    distillation.distillation_loss.use_policy_gradient=True
    distillation.distillation_loss.use_task_rewards=False
)
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files=$HOME/data/gsm8k/train.parquet \
    data.val_files=$HOME/data/gsm8k/test.parquet \
    data.train_batch_size=128 \
    data.max_prompt_length=1024 \
    data.max_response_length=4096 \
    actor_rollout_ref.model.path="${STUDENT_MODEL}" \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=128 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=$((max_len * 2)) \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=1 \
    actor_rollout_ref.rollout.max_model_len=${max_len} \
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True \
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=$((max_len * 2)) \
    "${DISTILLATION[@]}" \
    trainer.n_gpus_per_node=4 trainer.nnodes=1 "$@"
