# grpo-guard-test: --version ms-swift=4.5.3 --version transformers=4.57.6
NPROC_PER_NODE=4 swift rlhf \
    --rlhf_type grpo \
    --model Qwen/Qwen2.5-7B-Instruct \
    --use_vllm true \
    --vllm_mode colocate \
    --vllm_gpu_memory_utilization 0.5 \
    --dataset data.jsonl \
    --reward_funcs accuracy \
    --per_device_train_batch_size 4 \
    --num_generations 4 \
    --temperature 0
