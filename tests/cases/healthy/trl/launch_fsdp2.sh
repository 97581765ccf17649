#!/bin/bash
# grpo-guard-test: --version trl=1.9.0 --version accelerate=1.14.0
# expect: prompts_per_step=32 samples_per_step=256
accelerate launch --config_file parts/fsdp2.yaml -m trl.scripts.grpo \
    --model_name_or_path Qwen/Qwen3-8B \
    --dataset_name trl-lib/DeepMath-103K \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 8 \
    --num_generations 8 \
    --max_completion_length 2048 \
    --learning_rate 1e-6 \
    --bf16 True \
    --output_dir out/fsdp2
