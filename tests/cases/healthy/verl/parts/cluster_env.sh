# Sourced by the launch scripts of this folder
export NCCL_DEBUG=WARN
export VLLM_USE_V1=1
export NNODES=${NNODES:-2}
export GPUS_PER_NODE=${GPUS_PER_NODE:-8}
common_args() {
    echo "trainer.nnodes=${NNODES} trainer.n_gpus_per_node=${GPUS_PER_NODE}"
}
