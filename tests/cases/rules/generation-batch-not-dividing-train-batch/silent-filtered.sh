# grpo-guard-test: --version verl=0.9.0
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    data.train_batch_size=64 \
    +data.gen_batch_size=192 \
    algorithm.filter_groups.enable=True \
    algorithm.filter_groups.metric=acc
