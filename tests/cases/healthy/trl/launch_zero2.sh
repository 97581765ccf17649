#!/bin/bash
# grpo-guard-test: --version trl=1.9.0 --version accelerate=1.14.0 --version deepspeed=0.19.6
# expect: prompts_per_step=64 samples_per_step=512
# accelerate with ZeRO-2 and the command line of the TRL script, the config file beside the script.
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd)"
accelerate launch \
    --config_file "$HERE/parts/zero2.yaml" \
    -m trl.scripts.grpo \
    --model_name_or_path Qwen/Qwen3-1.7B \
    --dataset_name trl-lib/DeepMath-103K \
    --learning_rate 1e-6 \
    --per_device_train_batch_size 8 \
    --gradient_accumulation_steps 8 \
    --num_generations 8 \
    --max_completion_length 1024 \
    --use_vllm \
    --vllm_mode colocate \
    --bf16 True \
    --output_dir out/zero2
