# grpo-guard-test: --version nemo-rl=0.7.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  policy.generation.colocated.enabled=false \
  policy.generation.colocated.resources.gpus_per_node=4
