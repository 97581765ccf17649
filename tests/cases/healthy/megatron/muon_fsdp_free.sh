#!/bin/bash
# grpo-guard-test: --version megatron-core=0.19.0 --version emerging-optimizers=0.4.0
# expect: samples_per_optimizer_step=128 micro_steps=8
# Muon with whole matrices spread over data-parallel ranks.
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
    --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 2 --global-batch-size 128 --train-iters 1000 \
    --optimizer muon --use-distributed-optimizer --muon-momentum 0.95 --muon-nesterov --lr 3e-4 --clip-grad 1.0 --bf16
