python3 -m verl.trainer.main_ppo 'a="b' "c='d" e=\'f\' $'g\x00h' actor_rollout_ref.rollout.n="'1'"
