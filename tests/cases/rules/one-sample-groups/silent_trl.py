# grpo-guard-test: --version trl=0.24.0
from trl import GRPOConfig

training_args = GRPOConfig(output_dir="out/debug", per_device_train_batch_size=4, num_generations=2)
