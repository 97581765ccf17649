#!/usr/bin/env bash
# grpo-guard-test: --version rllm=0.3.0.pre0.post20260815
# A hosted back end: no GPU of one's own, no verl.
set -euo pipefail
python -u train.py \
    rllm/backend=tinker \
    model.name=Qwen/Qwen3-4B-Instruct-2507 \
    model.lora_rank=32 \
    training.group_size=8 \
    training.learning_rate=4e-5 \
    data.train_batch_size=32 \
    data.val_batch_size=500 \
    data.max_prompt_length=4096 \
    data.max_response_length=4096 \
    rllm.rollout.train.temperature=1.0 \
    rllm.trainer.total_epochs=1 \
    rllm.trainer.logger=[console,ui] \
    "$@"
