# grpo-guard-test: --version trl=0.25.0
from trl import GRPOConfig

args = GRPOConfig(
    output_dir="out/gspo",
    per_device_train_batch_size=8,
    num_generations=8,
    importance_sampling_level="sequence_token",
)
