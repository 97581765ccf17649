# grpo-guard-test: --version trl=1.16.0
from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(output_dir="out", num_generations=8, per_device_train_batch_size=8, gradient_accumulation_steps=2)
trainer = GRPOTrainer(model="Qwen/Qwen3-0.6B", args=args, reward_funcs=len, train_dataset=data)
