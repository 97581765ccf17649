# grpo-guard-test: --version vllm=0.19.0
export VLLM_SERVER_DEV_MODE=1
vllm serve Qwen/Qwen3-8B --enable-sleep-mode
