# grpo-guard-test: --version vllm=0.8.5
vllm serve Qwen/Qwen3-8B --max-lora-rank 24
