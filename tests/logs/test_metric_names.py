"""Names of metrics and what they mean; the compiled data is that of the sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grpo_guard.logs.metrics import canonical

ROOT = Path(__file__).parents[2]


def test_the_compiled_data_is_fresh():
    command = [sys.executable, str(ROOT / "scripts/build_signals.py"), "--check"]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    "name, meaning",
    [
        ("actor/entropy", "entropy"),
        ("actor/entropy_loss", "entropy"),
        ("some_new_worker/entropy", "entropy"),
        ("train/entropy", "entropy"),
        ("grpo_actor/grad_norm/avg", "grad_norm"),
        ("critic/grad_norm", "critic_grad_norm"),
        ("critic/rewards/mean", "reward_mean"),
        ("critic/score/mean", "score_mean"),
        ("rewards/accuracy_reward/mean", "reward_component:accuracy_reward"),
        ("rewards/accuracy_reward/std", "reward_component_std:accuracy_reward"),
        ("reward/format", "reward_component:format"),
        ("reward/overall", "reward_mean"),
        ("val-core/openai/gsm8k/acc/mean@1", "eval_score"),
        ("val-core/openai/gsm8k/acc/std@4", None),
        ("eval_reward", "eval_score"),
        ("eval/aime24", "eval_score"),
        ("eval/loss", None),
        ("eval_entropy", None),
        ("eval/entropy", None),
        ("val/grad_norm", None),
        ("timing_s/update_actor", "phase_time:update_actor"),
        ("training/rollout_probs_diff_mean", "prob_gap"),
        ("sampling/sampling_logp_difference/mean", "logp_gap"),
        ("step", None),
        ("epoch", None),
        ("anything", None),
    ],
)
def test_a_name(name, meaning):
    found = canonical(name)
    assert (found[0] if found else None) == meaning
