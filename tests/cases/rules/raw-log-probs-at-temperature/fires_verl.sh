# grpo-guard-test: --version verl=0.8.0
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \
  actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.temperature=0.8 \
  actor_rollout_ref.rollout.calculate_log_probs=True actor_rollout_ref.rollout.logprobs_mode=raw_logprobs
