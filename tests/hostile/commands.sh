rm -rf "$HOME" owned
$(touch owned)
`touch owned`
eval "touch owned"
python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=$(touch owned; echo 1)
