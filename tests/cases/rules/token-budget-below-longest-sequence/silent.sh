# grpo-guard-test: --version verl=0.9.0
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    data.max_prompt_length=2048 \
    data.max_response_length=14336 \
    actor_rollout_ref.actor.use_dynamic_bsz=True
