# grpo-guard-test: --version verl=0.7.1
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    trainer.n_gpus_per_node=8 \
    trainer.nnodes=1 \
    trainer.use_legacy_worker_impl=disable
