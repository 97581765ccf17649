# grpo-guard-test: --version nemo-rl=0.4.0
uv run examples/run_grpo_math.py \
  cluster.gpus_per_node=8 \
  grpo.async_grpo.enabled=true \
  loss_fn.use_importance_sampling_correction=true \
  policy.generation.colocated.enabled=false \
  policy.generation.colocated.resources.gpus_per_node=4 \
  policy.generation.vllm_cfg.async_engine=true \
  grpo.async_grpo.max_trajectory_age_steps=4
