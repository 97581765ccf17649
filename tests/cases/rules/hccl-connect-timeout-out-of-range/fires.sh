# grpo-guard-test: --version vllm-ascend=0.18.0
export HCCL_CONNECT_TIMEOUT=60
vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2
