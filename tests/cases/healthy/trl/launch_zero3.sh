#!/bin/bash
# grpo-guard-test: --version trl=1.9.0 --version accelerate=1.14.0 --version deepspeed=0.19.6
# expect: prompts_per_step=16 samples_per_step=128
accelerate launch --config_file parts/zero3.yaml train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-32B-Instruct \
    --learning_rate 5e-7 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --num_generations 8 \
    --max_completion_length 2048 \
    --gradient_checkpointing \
    --use_vllm --vllm_mode server --vllm_server_host "${VLLM_HOST:-10.0.0.2}" \
    --bf16 True --output_dir out/zero3
