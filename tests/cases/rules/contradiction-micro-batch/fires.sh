# grpo-guard-test: --version trl=0.22.2 --version transformers=4.57.6 --version deepspeed=0.18.9
torchrun --nproc_per_node 8 train_grpo.py \
    --deepspeed ds-wrong.json \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --learning_rate 1e-6 \
    --num_generations 8 \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 4 \
    --weight_decay 0.01 \
    --max_grad_norm 0.5 \
    --bf16 true
