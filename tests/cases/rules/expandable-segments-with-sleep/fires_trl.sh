# grpo-guard-test: --version trl=1.9.0 --version vllm=0.12.0
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
trl grpo \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --dataset_name trl-lib/DeepMath-103K \
    --output_dir out/grpo \
    --dtype bfloat16 \
    --reward_funcs accuracy_reward \
    --use_vllm \
    --vllm_mode colocate \
    --vllm_enable_sleep_mode
