#!/bin/bash
# grpo-guard-test: --version slime=0.2.1
ARGS=(
    --hf-checkpoint /models/Qwen3-4B
    --ref-load /models/Qwen3-4B_torch_dist
    --prompt-data /data/dapo.jsonl
    --num-rollout 100
    --rollout-batch-size 32
    --n-samples-per-prompt 8
    --rollout-max-response-len 8192
    --advantage-estimator grpo
    --tensor-model-parallel-size 2
    --sequence-parallel
    --rollout-num-gpus-per-engine 2
    --optimizer adam
    --lr 1e-6
    --global-batch-size 192
)
ray job submit --address=http://127.0.0.1:8265 \
    --runtime-env-json='{"env_vars": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}' \
    -- python3 train.py \
    --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate "${ARGS[@]}"
