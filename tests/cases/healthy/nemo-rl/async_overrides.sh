#!/bin/bash
# grpo-guard-test: --version nemo-rl=0.7.0
# expect: prompts_per_step=32 samples_per_step=512 optimizer_steps_per_rollout=1
# Asynchronous GRPO on one node, four GPUs for each side, over the script's own config.
uv run examples/run_grpo.py \
  policy.model_name=Qwen/Qwen3-1.7B \
  cluster.gpus_per_node=8 \
  grpo.async_grpo.enabled=true \
  grpo.async_grpo.max_trajectory_age_steps=1 \
  loss_fn.use_importance_sampling_correction=true \
  policy.generation.colocated.enabled=false \
  policy.generation.colocated.resources.gpus_per_node=4 \
  policy.generation.vllm_cfg.async_engine=true \
  ++policy.generation.vllm_kwargs.max_num_seqs=256
