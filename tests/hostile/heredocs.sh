cat <<A <<'B' <<-C
$x
A
$y
B
	z
	C
python3 -m verl.trainer.main_ppo <<<'x' actor_rollout_ref.rollout.n=1
cat <<NEVER
