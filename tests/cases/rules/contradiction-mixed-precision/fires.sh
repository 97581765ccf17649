# grpo-guard-test: --version trl=0.22.2
accelerate launch --config_file multi-gpu-fp16.yaml train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --learning_rate 1e-6 \
    --num_generations 8 \
    --per_device_train_batch_size 8 \
    --bf16 true \
    --fp16 false
