# grpo-guard-test: --version trl=0.26.0 --version deepspeed=0.18.9
accelerate launch --use_deepspeed --zero_stage 3 --num_processes 8 train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --num_generations 8 \
    --per_device_train_batch_size 8 \
    --use_peft \
    --lora_r 16 \
    --gradient_checkpointing \
    --gradient_checkpointing_kwargs '{"use_reentrant": false}'
