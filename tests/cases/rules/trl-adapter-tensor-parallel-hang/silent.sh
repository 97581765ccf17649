# grpo-guard-test: --version trl=1.7.1
trl grpo \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --dataset_name trl-lib/DeepMath-103K \
    --output_dir out/grpo \
    --per_device_train_batch_size 8 \
    --num_generations 8 \
    --reward_funcs accuracy_reward \
    --use_peft \
    --use_vllm \
    --vllm_tensor_parallel_size 2
