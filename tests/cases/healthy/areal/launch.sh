#!/bin/bash
# grpo-guard-test: --version areal=2.0.0
# expect: prompts_per_step=128 samples_per_step=2048
# The config file of a script, with overrides of keys that it has and one that is added.
python3 examples/math/gsm8k_rl.py --config configs/boba.yaml \
  scheduler.type=local gconfig.n_samples=16 train_dataset.batch_size=128 \
  +actor.optimizer.lr=1e-6
