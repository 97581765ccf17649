# grpo-guard-test: --version vllm=0.19.0
vllm serve Qwen/Qwen3-8B --max-num-seqs 512 --max_num_batched_tokens 512
