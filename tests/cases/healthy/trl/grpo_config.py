# grpo-guard-test: --version trl=1.9.0 --world-size 4
# expect: prompts_per_step=16 samples_per_step=256
"""GRPOConfig in a script: literals, a variable, a conditional expression and an argument of the command line."""

import argparse

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vllm-mode", choices=("colocate", "server"), default="colocate")
    parser.add_argument("--output-dir", default="out")
    args = parser.parse_args()
    group = 16
    config = GRPOConfig(
        output_dir=args.output_dir,
        learning_rate=1e-6,
        per_device_train_batch_size=group,
        gradient_accumulation_steps=4,
        num_generations=group,
        max_completion_length=1024,
        use_vllm=True,
        vllm_mode=args.vllm_mode,
        vllm_gpu_memory_utilization=0.4 if args.vllm_mode == "colocate" else 0.9,
        temperature=1.0,
        beta=0.0,
        scale_rewards="batch",
        bf16=True,
        gradient_checkpointing=True,
        logging_steps=1,
    )
    trainer = GRPOTrainer(
        model="Qwen/Qwen3-1.7B",
        args=config,
        reward_funcs=accuracy_reward,
        train_dataset=load_dataset("trl-lib/DeepMath-103K", split="train"),
    )
    trainer.train()


if __name__ == "__main__":
    main()
