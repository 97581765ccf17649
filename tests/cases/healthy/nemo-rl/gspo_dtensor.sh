#!/bin/bash
# grpo-guard-test: --version nemo-rl=0.6.0
# GSPO with LoRA on the DTensor back end.
uv run examples/run_grpo.py --config examples/configs/grpo_math_8B.yaml \
  loss_fn.sequence_level_importance_ratios=true \
  loss_fn.token_level_loss=false \
  policy.dtensor_cfg.lora_cfg.enabled=true \
  policy.dtensor_cfg.lora_cfg.dim=32
