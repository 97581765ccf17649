# grpo-guard-test: --version trl=0.20.0
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(output_dir="out/grpo", per_device_train_batch_size=8, num_generations=8)
trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-3B-Instruct",
    args=args,
    reward_funcs=correct,
    train_dataset=dataset,
    peft_config=LoraConfig(r=32, lora_alpha=64),
)
