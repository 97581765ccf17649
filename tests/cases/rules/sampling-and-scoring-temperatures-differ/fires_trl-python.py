# grpo-guard-test: --version trl=0.20.0
from trl import GRPOConfig

args = GRPOConfig(
    output_dir="out/grpo",
    per_device_train_batch_size=8,
    num_generations=8,
    generation_kwargs={"temperature": 0.7, "presence_penalty": 0.1},
)
