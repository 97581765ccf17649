# grpo-guard-test: --version vllm=0.19.0
vllm serve Qwen/Qwen3-8B --enable-sleep-mode
