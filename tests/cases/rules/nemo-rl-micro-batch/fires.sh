# grpo-guard-test: --version nemo-rl=0.7.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  policy.sequence_packing.enabled=false \
  policy.train_micro_batch_size=3
