while true; do x=$x$x1; done
until false; do :; done
python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=1
