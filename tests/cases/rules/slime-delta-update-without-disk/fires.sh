#!/bin/bash
# grpo-guard-test: --version slime=0.3.1
ARGS=(
    --hf-checkpoint /models/Qwen3-4B
    --ref-load /models/Qwen3-4B_torch_dist
    --prompt-data /data/dapo.jsonl
    --num-rollout 100
    --rollout-batch-size 32
    --n-samples-per-prompt 8
    --global-batch-size 256
    --rollout-max-response-len 8192
    --advantage-estimator grpo
    --tensor-model-parallel-size 2
    --sequence-parallel
    --rollout-num-gpus-per-engine 2
    --optimizer adam
    --lr 1e-6
    --update-weight-mode delta
)
python3 train_async.py --actor-num-nodes 1 --actor-num-gpus-per-node 4 --rollout-num-gpus 4 "${ARGS[@]}"
