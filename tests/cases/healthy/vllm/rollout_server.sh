#!/bin/bash
# grpo-guard-test: --version vllm=0.25.0
# Colocated rollout server of a LoRA run: weights go out on level-1 sleep, adapters are loaded after each step
export VLLM_SERVER_DEV_MODE=1
export VLLM_ALLOW_RUNTIME_LORA_UPDATING=True
MODEL=${MODEL:-Qwen/Qwen3-8B}
vllm serve "$MODEL" \
  --host 0.0.0.0 --port 8000 \
  -tp 2 --data-parallel-size 2 \
  --dtype bfloat16 --max-model-len 16k --gpu-memory-utilization 0.5 \
  --max-num-seqs 256 --max-num-batched-tokens 8192 \
  --enable-lora --max-lora-rank 64 --max-loras 1 \
  --enable-sleep-mode --logprobs-mode processed_logprobs --generation-config vllm
