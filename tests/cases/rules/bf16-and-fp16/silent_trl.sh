# grpo-guard-test: --version trl=1.9.0
trl grpo \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --dataset_name trl-lib/DeepMath-103K \
    --output_dir out/grpo \
    --per_device_train_batch_size 8 \
    --num_generations 8 \
    --reward_funcs accuracy_reward \
    --bf16 true
