# grpo-guard-test: --version trl=0.22.2
torchrun --nproc_per_node 8 train_grpo.py \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --num_generations 8 \
    --per_device_train_batch_size 8 \
    --bf16 true \
    --deepspeed ds-two.json --fsdp full_shard
