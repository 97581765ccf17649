# grpo-guard-test: --version nemo-rl=0.6.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  ++grpo.skip_reference_policy_logprobs_calculation=true
