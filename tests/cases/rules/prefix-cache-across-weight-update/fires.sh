# grpo-guard-test: --version vllm=0.25.0
vllm serve Qwen/Qwen3-8B --weight-transfer-config '{"backend": "nccl"}'
