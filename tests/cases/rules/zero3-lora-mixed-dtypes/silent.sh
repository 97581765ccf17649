# grpo-guard-test: --version trl=1.6.0 --version deepspeed=0.19.3
deepspeed --num_gpus 4 train_grpo.py \
    --deepspeed ds-zero3.json \
    --model_name_or_path Qwen/Qwen2.5-7B-Instruct \
    --output_dir out/grpo \
    --num_generations 8 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 4 \
    --bf16 true --use_peft --lora_r 32
