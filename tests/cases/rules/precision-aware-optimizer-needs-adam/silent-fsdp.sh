#!/bin/bash
# grpo-guard-test: --version megatron-core=0.19.0
ARGS=(
    --num-layers 32
    --hidden-size 4096
    --num-attention-heads 32
    --seq-length 4096
    --max-position-embeddings 4096
    --micro-batch-size 1
    --global-batch-size 64
    --lr 1e-5
    --train-iters 100
    --bf16
    --use-precision-aware-optimizer
    --use-megatron-fsdp
    --ckpt-format fsdp_dtensor
)
torchrun --nproc_per_node 8 pretrain_gpt.py "${ARGS[@]}"
