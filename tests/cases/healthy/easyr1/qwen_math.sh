#!/bin/bash
# grpo-guard-test: --version easyr1=0.3.2
# expect: prompts_per_step=512 samples_per_step=2560
set -x
MODEL_PATH=Qwen/Qwen3-4B  # replace it with your local file path

python3 -m verl.trainer.main \
    config=examples/config.yaml \
    data.max_response_length=4096 \
    worker.actor.model.model_path=${MODEL_PATH} \
    trainer.experiment_name=qwen3_4b_math_grpo \
    trainer.n_gpus_per_node=8
