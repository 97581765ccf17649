# grpo-guard-test: --version trl=1.9.0 --world-size 2
from datasets import load_dataset
from trl import RLOOConfig, RLOOTrainer

dataset = load_dataset("trl-lib/ultrafeedback-prompt", split="train")

training_args = RLOOConfig(
    output_dir="rloo",
    learning_rate=1e-6,
    per_device_train_batch_size=8,
    gradient_accumulation_steps=4,
    num_generations=4,
    max_completion_length=512,
    beta=0.05,
    bf16=True,
)
trainer = RLOOTrainer(
    model="Qwen/Qwen3-0.6B",
    reward_funcs=lambda completions, **kwargs: [float(len(set(c))) for c in completions],
    args=training_args,
    train_dataset=dataset,
)
trainer.train()
