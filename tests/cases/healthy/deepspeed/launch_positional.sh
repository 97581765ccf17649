#!/bin/bash
# grpo-guard-test: --version deepspeed=0.19.6
# The GPUs are the first argument; without it bash would divide by zero, with it all is well.
NGPU=$1
LR=${2:-3e-5}
EFFECTIVE_BATCH_SIZE=64
PER_GPU=$((EFFECTIVE_BATCH_SIZE / NGPU))
if [[ $PER_GPU -lt 4 ]]; then
    ACCUMULATION=1
else
    ACCUMULATION=$((PER_GPU / 4))
fi
deepspeed --num_gpus "$NGPU" train.py \
    --deepspeed --deepspeed_config parts/ds_zero1.json \
    --learning_rate "$LR" \
    --gradient_accumulation_steps "$ACCUMULATION"
