#!/bin/bash
# grpo-guard-test: --version megatron-core=0.19.0
export CUDA_DEVICE_MAX_CONNECTIONS=1
ARGS=(
    --num-layers 32
    --hidden-size 4096
    --num-attention-heads 32
    --seq-length 4096
    --max-position-embeddings 4096
    --lr 1e-5
    --train-iters 100
    --bf16
    --use-distributed-optimizer
    --global-batch-size 60
    --micro-batch-size 2
    --decrease-batch-size-if-needed
)
torchrun --nproc_per_node 8 pretrain_gpt.py "${ARGS[@]}"
