#!/usr/bin/env bash
# grpo-guard-test: --version verl=0.9.0
# expect: prompts_per_step=128 samples_per_step=1024
# Settings from a sourced file and a function of it; a heredoc writes the reward function.
set -euo pipefail
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
source "${SCRIPT_DIR}/parts/cluster_env.sh"

cat > /tmp/my_reward.py <<'PY'
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    # actor_rollout_ref.rollout.n=1 in here is text and no setting
    return float(solution_str.strip().endswith(str(ground_truth)))
PY

run() {
    local n=$1
    shift
    python3 -m verl.trainer.main_ppo \
        algorithm.adv_estimator=grpo \
        actor_rollout_ref.rollout.n="$n" \
        reward.custom_reward_function.path=/tmp/my_reward.py \
        reward.custom_reward_function.name=compute_score \
        "$@"
}

run 8 \
    data.train_files=/data/math/train.parquet \
    data.val_files=/data/math/test.parquet \
    data.train_batch_size=128 \
    data.max_prompt_length=1024 \
    data.max_response_length=3072 \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 \
    $(common_args)
