# grpo-guard-test: --version vllm=0.19.0
vllm serve Qwen/Qwen3-8B --max-model-len 8192 --max-num-batched-tokens 8192 --no-enable-chunked-prefill
