# grpo-guard-test: --version sglang=0.5.10
python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2 --enable-weights-cpu-backup --enable-memory-saver
