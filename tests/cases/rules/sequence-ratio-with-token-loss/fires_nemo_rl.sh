# grpo-guard-test: --version nemo-rl=0.7.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  loss_fn.sequence_level_importance_ratios=true
