#!/bin/bash
# grpo-guard-test: --version openrlhf=0.11.0
# expect: prompts_per_step=128 samples_per_step=1024
# Dotted flags in arrays behind `ray job submit`; comments inside the arrays.
SCRIPT_DIR="$(dirname "$0")"
WORK_DIR=$(cd "$SCRIPT_DIR/../.." && pwd)
set -x
MODEL_PATH="Qwen/Qwen3-4B-Thinking-2507"
SAVE_PATH="${WORK_DIR}/exp/Qwen3-4B-Thinking"

CKPT_ARGS=(
   --actor.model_name_or_path ${MODEL_PATH}
   # --reward.model_name_or_path ${REWARD_MODEL}
   --ckpt.load_enable
   --ckpt.output_dir ${SAVE_PATH}
   --ckpt.path "${SAVE_PATH}/ckpt"
   --ckpt.save_hf
)
ROLLOUT_ARGS=(
   --train.agent_func_path examples/python/agent_func.py
   --data.prompt_dataset zhuzilin/dapo-math-17k
   --data.input_key prompt
   --data.label_key label
   --data.max_len 16384
   --rollout.max_new_tokens 14000
   --data.apply_chat_template
   --ds.packing_samples
   --rollout.batch_size 128
   --rollout.n_samples_per_prompt 8
   --train.batch_size 1024
   --train.dynamic_batch_enable
   --train.max_tokens_per_gpu 16384
   --rollout.max_tokens_per_gpu 32768
)
ENGINE_ARGS=(
   --ref.num_nodes 1
   --ref.num_gpus_per_node 8
   --actor.num_nodes 1
   --actor.num_gpus_per_node 8
   --vllm.num_engines 4
   --vllm.tensor_parallel_size 2
   --vllm.gpu_memory_utilization 0.6
   --train.colocate_all
   --vllm.enable_sleep
   --ds.enable_sleep
   --vllm.sync_backend nccl
   --ds.zero_stage 3
   --actor.gradient_checkpointing_enable
   --ds.param_dtype bf16
)
OPTIMIZER_ARGS=(
   --algo.advantage.estimator reinforce_baseline
   --actor.adam.lr 5e-7
   --algo.kl.init_coef 1e-5
   --algo.kl.use_loss
   --algo.kl.estimator k2
)
ray job submit --address="http://127.0.0.1:8265" \
   -- python3 -m openrlhf.cli.train_ppo_ray \
   ${CKPT_ARGS[@]} \
   ${ROLLOUT_ARGS[@]} \
   ${ENGINE_ARGS[@]} \
   ${OPTIMIZER_ARGS[@]}
