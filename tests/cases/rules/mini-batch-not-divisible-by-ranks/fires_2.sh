# grpo-guard-test: --version verl=0.7.1
python3 -m verl.trainer.main_ppo \
    actor_rollout_ref.rollout.name=vllm \
    data.train_batch_size=64 \
    actor_rollout_ref.rollout.n=1 \
    algorithm.adv_estimator=reinforce_plus_plus \
    actor_rollout_ref.actor.ppo_mini_batch_size=4 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    trainer.n_gpus_per_node=8 \
    trainer.nnodes=1
