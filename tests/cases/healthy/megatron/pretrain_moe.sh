#!/bin/bash
# grpo-guard-test: --version megatron-core=0.19.0
# expect: samples_per_optimizer_step=256 micro_steps=32
# A mixture of experts on two nodes: tensor, pipeline and expert parallelism, sharded optimizer, overlap.
export CUDA_DEVICE_MAX_CONNECTIONS=1
DISTRIBUTED_ARGS=(--nproc_per_node 8 --nnodes 2 --master_addr localhost --master_port 6000)
MODEL_ARGS=(
    --use-mcore-models
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --seq-length 4096
    --max-position-embeddings 32768
    --disable-bias-linear
    --normalization RMSNorm
    --position-embedding-type rope
    --swiglu
    --untie-embeddings-and-output-weights
    --no-masked-softmax-fusion
)
MOE_ARGS=(
    --num-experts 8
    --moe-router-topk 2
    --moe-router-load-balancing-type aux_loss
    --moe-aux-loss-coeff 1e-2
    --moe-grouped-gemm
    --moe-token-dispatcher-type alltoall
    --moe-router-dtype fp32
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 256
    --lr 1e-4
    --min-lr 1.0e-5
    --train-iters 500000
    --lr-decay-style cosine
    --weight-decay 0.1
    --clip-grad 1.0
    --bf16
    --overlap-grad-reduce
    --overlap-param-gather
)
MODEL_PARALLEL_ARGS=(
    --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 1
    --expert-model-parallel-size 8
    --expert-tensor-parallel-size 1
    --use-distributed-optimizer
    --sequence-parallel
)
LOGGING_ARGS=(--log-interval 1 --save-interval 10000 --eval-interval 1000 --save /checkpoints --load /checkpoints)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${MODEL_ARGS[@]} ${MOE_ARGS[@]} ${TRAINING_ARGS[@]} ${MODEL_PARALLEL_ARGS[@]} ${LOGGING_ARGS[@]}
