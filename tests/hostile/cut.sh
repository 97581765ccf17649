python3 -m verl.trainer.main_ppo \
  actor_rollout_ref.rollout.n=8 \
  data.train_files="[