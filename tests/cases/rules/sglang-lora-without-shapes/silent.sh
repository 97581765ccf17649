# grpo-guard-test: --version sglang=0.5.10
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --enable-lora --max-lora-rank 32 --lora-target-modules all
