# grpo-guard-test: --version nemo-rl=0.7.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  policy.megatron_cfg.enabled=true \
  policy.dtensor_cfg.enabled=false \
  policy.megatron_cfg.optimizer.optimizer_cpu_offload=true
