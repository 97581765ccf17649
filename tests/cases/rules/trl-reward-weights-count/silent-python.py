# grpo-guard-test: --version trl=1.9.0
from trl import GRPOConfig, GRPOTrainer

from rewards import correct, formatted, short

args = GRPOConfig(
    output_dir="out/grpo",
    per_device_train_batch_size=8,
    num_generations=8,
    reward_weights=[1.0, 0.2, 0.1],
)
trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-3B-Instruct",
    args=args,
    reward_funcs=[correct, formatted, short],
    train_dataset=dataset,
)
