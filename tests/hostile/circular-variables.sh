A=$B
B=$C
C=$A
python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=$A data.train_batch_size=${B:-$C}
