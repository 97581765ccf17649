# grpo-guard-test: --version verl=0.8.0
python3 -m verl.trainer.main_ppo --config-name ppo_megatron_trainer \
    algorithm.adv_estimator=grpo \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.model.use_fused_kernels=True \
    actor_rollout_ref.model.use_liger=True
