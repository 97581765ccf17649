# grpo-guard-test: --version rllm=0.3.0.pre0 --version verl=0.8.0
# The unified trainer on verl: knobs that exist twice are given once.
set -euo pipefail
unset ROCR_VISIBLE_DEVICES 2>/dev/null || true
MODEL_PATH=Qwen/Qwen3-4B-Instruct-2507

python -u train.py \
    rllm/backend=verl \
    rllm.algorithm.adv_estimator=grpo \
    rllm.rollout.n=8 \
    rllm.trainer.total_epochs=1 \
    data.train_batch_size=32 \
    data.val_batch_size=500 \
    data.max_prompt_length=4096 \
    data.max_response_length=4096 \
    actor_rollout_ref.model.path=$MODEL_PATH \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384 \
    actor_rollout_ref.actor.fsdp_config.param_offload=true \
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=true \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.mode=async \
    actor_rollout_ref.rollout.tensor_model_parallel_size=1 \
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True \
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=16384 \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.7 \
    trainer.n_gpus_per_node=8 \
    trainer.nnodes=1 \
    "$@"
