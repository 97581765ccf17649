python3 -m verl.trainer.main_ppo \
  actor_rollout_ref.rollout.n=1 \
  data.train_batch_size=64
