# grpo-guard-test: --version verl=0.7.1
python3 -m verl.trainer.main_ppo \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    algorithm.adv_estimator=grpo_vectorized
