#!/bin/bash
# grpo-guard-test: --version megatron-bridge=0.6.0
# expect: samples_per_optimizer_step=64 micro_steps=16
uv run python -m torch.distributed.run --nproc_per_node=8 scripts/training/run_recipe.py \
    --recipe qwen3_8b_sft_config --mode sft \
    checkpoint.pretrained_checkpoint=/models/qwen3_8b \
    checkpoint.save=/results/qwen3_8b_sft \
    checkpoint.save_interval=200 \
    model.tensor_model_parallel_size=2 \
    model.pipeline_model_parallel_size=1 \
    model.context_parallel_size=1 \
    train.train_iters=1000 \
    train.global_batch_size=64 \
    train.micro_batch_size=1 \
    optimizer.lr=1e-5 \
    optimizer.min_lr=1e-6 \
    mixed_precision=bf16_mixed \
    logger.log_interval=1
