# grpo-guard-test: --version trl=0.22.2
accelerate launch --num_processes 4 train_grpo.py \
    --model_name_or_path Qwen/Qwen3-30B-A3B \
    --output_dir out/grpo \
    --learning_rate 1e-6 \
    --num_generations 8 \
    --per_device_train_batch_size 8 \
    --gradient_accumulation_steps 4 \
    --fp16 true
