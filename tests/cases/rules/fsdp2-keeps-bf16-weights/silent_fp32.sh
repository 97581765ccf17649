# grpo-guard-test: --version trl=0.29.0 --version accelerate=1.13.0
accelerate launch --num_processes 4 --use_fsdp --fsdp_version 2 --mixed_precision bf16 train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct \
    --dtype float32 \
    --output_dir out/grpo \
    --learning_rate 1e-6 \
    --num_generations 8 \
    --per_device_train_batch_size 8 \
    --bf16 true
