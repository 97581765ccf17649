#!/bin/bash
# grpo-guard-test: --version slime=0.3.1
# expect: samples_per_step=512 samples_per_optimizer_step=128 optimizer_steps_per_rollout=4
# A mixture of experts with GPUs of its own for the rollout, replaying the rollout's expert choices.
MODEL_ARGS=(--num-layers 48 --hidden-size 2048 --num-attention-heads 32 --num-experts 128 --moe-router-topk 8
   --moe-router-dtype fp32 --moe-token-dispatcher-type alltoall)
python3 train_async.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --rollout-num-gpus 16 ${MODEL_ARGS[@]} \
   --hf-checkpoint /root/Qwen3-30B-A3B --ref-load /root/Qwen3-30B-A3B_torch_dist --prompt-data /root/d.jsonl \
   --num-rollout 500 --rollout-batch-size 64 --n-samples-per-prompt 8 --num-steps-per-rollout 4 \
   --rollout-max-response-len 16384 --advantage-estimator gspo --eps-clip 3e-4 --eps-clip-high 4e-4 --use-tis \
   --use-rollout-routing-replay --tensor-model-parallel-size 4 --sequence-parallel --expert-model-parallel-size 8 \
   --expert-tensor-parallel-size 1 --context-parallel-size 2 --use-dynamic-batch-size --max-tokens-per-gpu 20480 \
   --rollout-num-gpus-per-engine 8 --sglang-mem-fraction-static 0.85 --sglang-ep-size 8 --optimizer adam --lr 1e-6
