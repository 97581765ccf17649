# grpo-guard-test: --version nemo-rl=0.7.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  policy.megatron_cfg.enabled=true \
  policy.dtensor_cfg.enabled=false \
  policy.dynamic_batching.enabled=true \
  policy.sequence_packing.enabled=false \
  policy.megatron_cfg.pipeline_model_parallel_size=2
