#!/usr/bin/env bash
# grpo-guard-test: --version verl=0.9.1
# expect: prompts_per_step=1024 samples_per_step=8192
# Settings in named arrays, from environment variables with defaults; the device is probed.
set -xeuo pipefail

DEVICE=${DEVICE:-$(python3 -c 'import torch_npu' 2>/dev/null && echo npu || echo gpu)}
INFER_BACKEND=${INFER_BACKEND:-vllm}
MACHINE=${MACHINE:-}
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-8B}
NNODES=${NNODES:-1}
NGPUS_PER_NODE=${NGPUS_PER_NODE:-}
rollout_tp=${ROLLOUT_TP:-}
max_tokens=${PPO_MAX_TOKEN_LEN_PER_GPU:-$((8 * 3072))}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3_8b_${INFER_BACKEND}_$(date +%Y%m%d_%H%M)}

EXTRA=()
case "${DEVICE}" in
    gpu)
        offload=False
        rollout_tp=${rollout_tp:-2}
        case "${MACHINE}" in
            gb200)
                NGPUS_PER_NODE=${NGPUS_PER_NODE:-4}
                EXTRA+=(actor_rollout_ref.rollout.enforce_eager=True "+ray_kwargs.ray_init.num_gpus=${NGPUS_PER_NODE}")
                ;;
            *) NGPUS_PER_NODE=${NGPUS_PER_NODE:-8} ;;
        esac
        ;;
    npu)
        export HCCL_CONNECT_TIMEOUT=1500
        offload=True
        rollout_tp=${rollout_tp:-4}
        NGPUS_PER_NODE=16
        EXTRA+=(actor_rollout_ref.actor.use_torch_compile=False)
        ;;
    *)
        echo "DEVICE must be gpu or npu" >&2
        exit 1
        ;;
esac

DATA=(
    algorithm.adv_estimator=grpo
    algorithm.use_kl_in_reward=False
    data.train_files="['$HOME/data/gsm8k/train.parquet', '$HOME/data/math/train.parquet']"
    data.val_files="['$HOME/data/gsm8k/test.parquet', '$HOME/data/math/test.parquet']"
    data.train_batch_size=${TRAIN_BATCH_SIZE:-1024}
    data.max_prompt_length=1024
    data.max_response_length=2048
    data.filter_overlong_prompts=True
    data.truncation='error'
)
ACTOR=(
    actor_rollout_ref.model.path="$MODEL_PATH"
    actor_rollout_ref.model.use_remove_padding=True
    actor_rollout_ref.model.enable_gradient_checkpointing=True
    actor_rollout_ref.actor.optim.lr=${ACTOR_LR:-1e-6}
    actor_rollout_ref.actor.ppo_mini_batch_size=256
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${max_tokens}
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=0.001
    actor_rollout_ref.actor.kl_loss_type=low_var_kl
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.fsdp_config.param_offload=${offload}
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=${offload}
)
ROLLOUT=(
    actor_rollout_ref.rollout.name=${INFER_BACKEND}
    actor_rollout_ref.rollout.tensor_model_parallel_size=${rollout_tp}
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6
    actor_rollout_ref.rollout.n=${ROLLOUT_N:-8}
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=${max_tokens}
    actor_rollout_ref.ref.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.ref.log_prob_max_token_len_per_gpu=${max_tokens}
    actor_rollout_ref.ref.fsdp_config.param_offload=True
)
TRAINER=(
    trainer.balance_batch=True
    trainer.logger='["console","wandb"]'
    trainer.experiment_name=${EXPERIMENT_NAME}
    trainer.n_gpus_per_node=${NGPUS_PER_NODE}
    trainer.nnodes=${NNODES}
    trainer.save_freq=20
    trainer.test_freq=5
)

LAUNCH=(python3)
if [ "${VERL_USE_UV:-1}" != 0 ] && [ "${DEVICE}" = gpu ]; then
    LAUNCH=(uv run --frozen --all-packages --extra "${INFER_BACKEND}" --extra fsdp python3)
fi
"${LAUNCH[@]}" -m verl.trainer.main_ppo \
    "${DATA[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${TRAINER[@]}" \
    "${EXTRA[@]}" \
    "$@"
