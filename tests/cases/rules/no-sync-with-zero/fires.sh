# grpo-guard-test: --version trl=0.15.2 --version deepspeed=0.16.4 --version transformers=4.46.3
accelerate launch --num_processes 4 --use_deepspeed --zero_stage 2 --mixed_precision bf16 train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct \
    --output_dir out/grpo \
    --num_generations 8 \
    --per_device_train_batch_size 8 \
    --gradient_accumulation_steps 4 \
    --bf16 true
