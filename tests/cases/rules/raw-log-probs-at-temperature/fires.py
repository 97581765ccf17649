# grpo-guard-test: --version vllm=0.19.0
from vllm import LLM, SamplingParams

llm = LLM(model="Qwen/Qwen3-8B")
params = SamplingParams(temperature=0.7, logprobs=1)
