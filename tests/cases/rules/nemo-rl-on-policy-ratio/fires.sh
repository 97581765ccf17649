# grpo-guard-test: --version nemo-rl=0.7.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  loss_fn.force_on_policy_ratio=true \
  policy.train_global_batch_size=256
