# grpo-guard-test: --version ms-swift=4.5.3 --version transformers=4.57.6
CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 \
swift rlhf \
    --rlhf_type grpo \
    --model Qwen/Qwen2.5-7B-Instruct \
    --tuner_type lora \
    --torch_dtype bfloat16 \
    --use_vllm true \
    --vllm_mode colocate \
    --vllm_gpu_memory_utilization 0.5 \
    --dataset AI-MO/NuminaMath-TIR#10000 \
    --reward_funcs accuracy format \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 2 \
    --num_generations 8 \
    --max_completion_length 1024 \
    --learning_rate 1e-6 \
    --fp16 true \
    --bf16 true
