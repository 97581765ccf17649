# grpo-guard-test: --version ms-swift=4.5.3 --version transformers=4.57.6
CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 NPROC_PER_NODE=8 \
megatron rlhf \
    --rlhf_type grpo \
    --model Qwen/Qwen3-8B \
    --tuner_type full \
    --torch_dtype bfloat16 \
    --use_vllm true \
    --vllm_mode colocate \
    --vllm_gpu_memory_utilization 0.5 \
    --dataset AI-MO/NuminaMath-TIR#10000 \
    --reward_funcs accuracy \
    --tensor_model_parallel_size 2 \
    --micro_batch_size 2 \
    --global_batch_size 64 \
    --num_generations 8 \
    --max_completion_length 1024 \
    --lr 1e-6 \
    --num_iterations 2
