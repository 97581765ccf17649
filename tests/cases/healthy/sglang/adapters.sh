# grpo-guard-test: --version sglang=0.5.15
# Adapters on a kept base: weights are backed up when memory is released
sglang serve --model-path Qwen/Qwen3-8B --tensor-parallel-size 2 --enable-lora --max-lora-rank 32 \
  --lora-target-modules all --max-loras-per-batch 1 --enable-memory-saver --enable-weights-cpu-backup
