#!/bin/bash
# grpo-guard-test: --version megatron-core=0.13.0
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
    --use-distributed-optimizer
    --overlap-param-gather
    --use-custom-fsdp
    --data-parallel-sharding-strategy optim_grads_params
    --no-gradient-accumulation-fusion
)
torchrun --nproc_per_node 8 pretrain_gpt.py "${ARGS[@]}"
