# grpo-guard-test: --version verl=0.9.0
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    actor_rollout_ref.rollout.name=vllm \
    data.train_batch_size=60 \
    actor_rollout_ref.rollout.n=5 \
    actor_rollout_ref.actor.ppo_mini_batch_size=20 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    trainer.n_gpus_per_node=8 \
    trainer.nnodes=1
