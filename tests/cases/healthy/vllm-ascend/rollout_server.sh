# grpo-guard-test: --version vllm-ascend=0.30.0rc1 --version vllm=0.30.0
export HCCL_CONNECT_TIMEOUT=1800
export HCCL_BUFFSIZE=512
vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 4 --enable-expert-parallel --dtype bfloat16 \
  --max-model-len 20480 --gpu-memory-utilization 0.6 --enable-sleep-mode --logprobs-mode processed_logprobs \
  --additional-config '{"rl_config": {"enabled": true}, "enable_cpu_binding": true}'
