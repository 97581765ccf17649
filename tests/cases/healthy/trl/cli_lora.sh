#!/bin/bash
# grpo-guard-test: --version trl=1.9.0 --world-size 1
# expect: prompts_per_step=8 samples_per_step=64
# A LoRA run on one GPU; adapters take a higher learning rate.
trl grpo \
    --model_name_or_path Qwen/Qwen3-0.6B \
    --dataset_name trl-lib/DeepMath-103K \
    --use_peft --lora_r 32 --lora_alpha 64 --lora_target_modules all-linear \
    --learning_rate 1e-5 \
    --per_device_train_batch_size 8 \
    --gradient_accumulation_steps 8 \
    --num_generations 8 \
    --max_completion_length 512 \
    --dtype bfloat16 \
    --bf16 True \
    --output_dir out/lora
