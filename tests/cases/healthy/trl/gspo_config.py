# grpo-guard-test: --version trl=1.9.0 --world-size 8
# expect: prompts_per_step=32 samples_per_step=256
# Sequence-level ratios with the narrow clip of GSPO, and several optimizer steps per generation.
from trl import GRPOConfig

training_args = GRPOConfig(
    output_dir="gspo",
    importance_sampling_level="sequence",
    loss_type="grpo",
    beta=0.0,
    epsilon=3e-4,
    epsilon_high=4e-4,
    gradient_accumulation_steps=1,
    steps_per_generation=4,
    per_device_train_batch_size=8,
    num_generations=8,
    learning_rate=1e-6,
    bf16=True,
)
