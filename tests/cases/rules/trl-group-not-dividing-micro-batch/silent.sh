# grpo-guard-test: --version trl=0.16.1
accelerate launch --num_processes 4 train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --learning_rate 1e-6 \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 8 \
    --num_generations 4 \
    --max_completion_length 512
