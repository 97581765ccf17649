#!/bin/bash
# grpo-guard-test: --version deepspeed=0.19.6
# The deepspeed launcher; the output folder is the first argument.
OUTPUT=${1:-./output}
mkdir -p "$OUTPUT"
deepspeed --num_gpus 8 train.py \
    --deepspeed --deepspeed_config parts/ds_zero1.json \
    --output_dir "$OUTPUT" &> "$OUTPUT/training.log"
