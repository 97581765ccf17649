# grpo-guard-test: --version ms-swift=4.5.3 --world-size 8
NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 \
    --micro_batch_size 1 --global_batch_size 64 --num_generations 16 --use_vllm true --vllm_mode colocate \
    --reward_funcs accuracy soft_overlong
