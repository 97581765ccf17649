# grpo-guard-test: --version verl=0.9.0
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.actor.strategy=megatron \
    actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32
