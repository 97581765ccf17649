# grpo-guard-test: --version trl=0.27.1
accelerate launch --num_processes 8 train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --num_generations 8 \
    --per_device_train_batch_size 8 \
    --use_vllm \
    --vllm_mode server \
    --min_p 0.05
