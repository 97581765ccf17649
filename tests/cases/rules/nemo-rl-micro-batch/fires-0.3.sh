# grpo-guard-test: --version nemo-rl=0.3.0
uv run examples/run_grpo_math.py \
  cluster.gpus_per_node=8 \
  policy.sequence_packing.enabled=false \
  policy.train_micro_batch_size=3
