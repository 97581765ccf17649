# grpo-guard-test: --version trl=0.18.0
from trl import GRPOConfig

args = GRPOConfig(output_dir="out/grpo", per_device_train_batch_size=8, num_generations=8, fp16=True, bf16=True)
