# grpo-guard-test: --version vllm=0.8.5
from vllm import LLM

llm = LLM(model="Qwen/Qwen3-8B", enable_lora=True, max_lora_rank=24)
