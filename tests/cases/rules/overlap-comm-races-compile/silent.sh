# grpo-guard-test: --version trl=0.22.2 --version deepspeed=0.19.3
deepspeed --num_gpus 8 train_grpo.py \
    --deepspeed ds-overlap.json \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --num_generations 8 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 4 \
    --bf16 true --torch_compile true
