f() { f "$@"; }
f python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=1
