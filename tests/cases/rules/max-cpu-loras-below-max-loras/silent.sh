# grpo-guard-test: --version vllm=0.19.0
vllm serve Qwen/Qwen3-8B --enable-lora --max-loras 2 --max-cpu-loras 4
